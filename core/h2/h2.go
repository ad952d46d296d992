// Package h2 is the client's side of HTTP/2 (RFC 9113): calls to an upstream share few connections, and what the upstream may
// send of an answer follows what its reader takes.
//
// A connection has two goroutines and a call has none: it is driven by whoever makes it, and each of its waits has a limit.
// Frames and header compression are golang.org/x/net's. How a connection is opened, what a request says and what an error
// means for it is core/h1's.
package h2

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/net/http2/hpack"
)

// How many bytes of an answer may come before they are asked for: FirstWindow at its begin, twice as many whenever its reader
// has kept up with four times as many, MostWindow in the end, which is 1.3 MB a second at a round trip of 50 ms. A reader that is
// slow has FirstWindow again. WideWindow is for answers that are taken as they come.
const (
	FirstWindow = 8 << 10
	MostWindow  = 64 << 10
	WideWindow  = 1 << 20
)

// Field is a header field. Its name is in lower case.
type Field = hpack.HeaderField

// Options are a client's.
type Options struct {
	// Dial opens a connection whose other end speaks HTTP/2.
	Dial       func(ctx context.Context) (net.Conn, error)
	Scheme     string
	Authority  string
	MaxConns   int // that are open at once
	MaxIdle    int // calls that connections which are kept without one have places for
	MaxWaiting int // calls that wait while there are MaxConns
	Idle       time.Duration
	HeadBytes  int // of an answer's head, as HTTP/2 counts them
}

// Request is what a call asks for.
type Request struct {
	Method string
	Target string
	Fields []Field
	Body   [][]byte // is not kept
	Wide   bool     // the answer has WideWindow
}

// Errors of a client and its streams; those of Dial come as they are.
var (
	// ErrFull says that all connections are in use, and that as many calls wait as may.
	ErrFull = errors.New("too many connections")
	// ErrAborted says that the call was ended by Abort.
	ErrAborted = errors.New("aborted")
	// errClosed says that the connection was closed by this side.
	errClosed = errors.New("connection closed")
	// errGoingAway says that the upstream takes no more calls on the connection, and has not taken this one.
	errGoingAway = errors.New("the upstream has ended the connection before the call")
)

// What a connection holds and waits for.
const (
	connWindow  = 16 << 20 // is given back as bytes come, so that no slow reader stops the others
	mostStreams = 1000     // on one connection, whatever the upstream allows
	sendBuffer  = 64 << 10 // frames that wait for the socket; bodies wait for room
	answerLimit = 1 << 20  // of those and of answers to the upstream's own frames together
	frameSize   = 16 << 10
	dialLimit   = 30 * time.Second
	writeLimit  = 30 * time.Second
	byeLimit    = time.Second      // of what is said at the end
	pingAfter   = 30 * time.Second // of silence
	pingLimit   = 15 * time.Second
	maxInterim  = 8 // heads of 1xx before the real one
	maxStreamID = 1<<31 - 1
	maxWindow   = 1<<31 - 1
)
