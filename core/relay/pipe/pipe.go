// Package pipe turns the bytes of an upstream's answer into the client's: a Passage lets the frames of the client's own
// dialect through, a Translation has the plugin decode what came and writes it in the client's dialect.
//
// It reads and writes no connection. When an answer is the client's, and what follows a failure, is core/relay's.
package pipe

import (
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// Piece is what became of some bytes of a streamed answer.
type Piece struct {
	Segs    [][]byte     // for the client, in order; valid until the pipe's next call
	Failure *sdk.Failure // the stream has failed; Segs came before it
}

// Pipe turns the bytes of a streamed answer into the client's.
type Pipe interface {
	// Feed takes bytes as a read brought them.
	Feed(chunk []byte) Piece
	// End says that the upstream has ended the body in good order.
	End() Piece
	// Progress says whether there has been content, and whether the answer is complete.
	Progress() (content, done bool)
	// Tally gives what has been seen of usage, as Told has it, and of the reason of the end.
	Tally() (sdk.Usage, sdk.Reason)
	// Tokens is about how many the answer has so far, for where nobody says.
	Tokens() int64
	// Failer gives what may know how a failure is written at this place of the stream; see dialect.Failer.
	Failer() any
	// Begun is how many bytes are kept of a frame that has begun, until all of it has come.
	Begun() int
	// Spare lets the memory go that the last piece lies in, while nothing more is fed for a time.
	Spare()
	Close()
}

// Told is a provider's usage as it counts. Compatible services fill in zeros where they do not count: who gives nothing
// but zeros has told nothing, and what it used is to be reckoned. They are believed only of an answer that no model made.
func Told(u sdk.Usage) sdk.Usage {
	if u.TotalInput() == 0 && u.TotalOutput() == 0 && !u.Free {
		return sdk.Usage{}
	}
	return u
}

// Source is where an answer comes from.
type Source struct {
	Plugin  *pluginhost.Process
	Info    sdk.AnswerInfo
	Dialect *sdk.Dialect // the provider's
	Form    Form
}
