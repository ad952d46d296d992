// Package dialect is the contract of the client dialects below it: how a body is recognised and decoded into the sdk
// model, how events are written back, what an error looks like, and what a native answer says while it passes through.
//
// It knows no provider. Which dialect a route speaks is the gateway's; which of them a deployment speaks natively is
// said by its plugin's manifest.
package dialect

import (
	"bytes"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Dialect is the way one kind of client speaks. Implementations hold no state: one value serves all requests.
type Dialect interface {
	// Name is the dialect's name in configuration, manifests and metrics: openai-chat, anthropic, ….
	Name() string
	// Facts reads what admission and routing need, and what a passed request needs checked, without decoding the body.
	// The error is a *sdk.Failure of kind BadRequest with the member in Param.
	Facts(doc *jsonspan.Doc, f *Facts) error
	// Decode builds the middle form. Texts and values are slices of doc.Body. The error is as that of Facts.
	Decode(doc *jsonspan.Doc, r *sdk.Request) error
	// NewObserver makes the reader of one native answer that passes through.
	NewObserver(o ObserverOptions) Observer
	// NewEncoder makes the writer of one answer.
	NewEncoder(o EncoderOptions) Encoder
	// AppendError writes a whole error body.
	AppendError(dst []byte, f *sdk.Failure, requestID string) []byte
	// AppendStreamError writes the frame that ends a stream in failure.
	AppendStreamError(dst []byte, f *sdk.Failure, requestID string) []byte
	// Status is the HTTP status of a failure in this dialect.
	Status(f *sdk.Failure) int
	// KeepAlive is a frame that says nothing: a comment, a ping.
	KeepAlive() []byte
}

// Repairer is implemented by a dialect whose clients are known to send, within one conversation, what no provider of the
// dialect takes: Repairs appends the edits that leave it out of a passed request.
type Repairer interface {
	Repairs(dst []jsonspan.Edit, doc *jsonspan.Doc) []jsonspan.Edit
}

// Reconsiderer is implemented by a dialect that knows refusals which the same request without some part would not meet:
// Reconsider appends the edits that leave it out, and the same deployment is asked once more. None: the refusal stands.
type Reconsiderer interface {
	Reconsider(dst []jsonspan.Edit, doc *jsonspan.Doc, f *sdk.Failure) []jsonspan.Edit
}

// WithoutItems is the edit that leaves some items out of an array; false where none is to be dropped, or all are. What is
// kept stays byte for byte.
func WithoutItems(doc *jsonspan.Doc, array int, drop func(item int) bool) (jsonspan.Edit, bool) {
	kept, dropped := []byte{'['}, false
	for item := range doc.Items(array) {
		if drop(item) {
			dropped = true
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, doc.Raw(item)...)
	}
	if !dropped || len(kept) == 1 {
		return jsonspan.Edit{}, false
	}
	return doc.Replace(array, append(kept, ']')), true
}

// Need is a set of capabilities that a request calls for.
type Need uint16

// The capabilities.
const (
	Tools Need = 1 << iota
	ParallelTools
	Images
	Audio
	Documents
	Thinking
	JSONSchema
	Prefill
	Embeddings
	Logprobs
	Several // n > 1
)

// needNames are the capabilities' names in configuration and manifests, in the order of the bits.
var needNames = [...]string{"tools", "parallel_tools", "images", "audio", "documents", "thinking", "json_schema", "prefill", "embeddings", "logprobs", "n"}

// Names lists the capabilities in the set.
func (n Need) Names() []string {
	var names []string
	for i, name := range needNames {
		if n&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseNeed gives the capability of a name; false for a name outside the closed list.
func ParseNeed(name string) (Need, bool) {
	for i, n := range needNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// Facts is what routing reads of a request.
type Facts struct {
	Model     string // as the client wrote it; "" where the dialect has it in the path
	ModelNode int    // its node in the document; 0: not in the body
	Stream    bool
	WantUsage bool // a stream whose client asked for usage
	Needs     Need
	MaxOutput int // tokens; 0: not said
	Messages  int
	Tools     int
	TextBytes int // bytes of text that the model reads, for token estimates
	Media     Media
	Effort    string
	Encoding  string // of the vectors that are asked for: float, base64; "" float
	User      string
	Results   bool   // the last message brings results of tool calls
	State     string // what the request continues that only one account has: an earlier answer, a conversation
}

// Media is what the model reads beside text, for token estimates: how many there are, and how many bytes of those that are
// in the request itself.
type Media struct {
	Images, Sounds, Videos, Documents     int
	SoundBytes, VideoBytes, DocumentBytes int
}

// Image takes note of an image.
func (f *Facts) Image() {
	f.Needs |= Images
	f.Media.Images++
}

// Sound takes note of a recording, and of the length of its base64 text.
func (f *Facts) Sound(base64 int) {
	f.Needs |= Audio
	f.Media.Sounds++
	f.Media.SoundBytes += base64 / 4 * 3
}

// Document takes note of a document, and of the length of its base64 text.
func (f *Facts) Document(base64 int) {
	f.Needs |= Documents
	f.Media.Documents++
	f.Media.DocumentBytes += base64 / 4 * 3
}

// File takes note of a file by its media type, which is in lower case: a video needs what a document needs.
func (f *Facts) File(mime string, base64 int) {
	switch kind, _, _ := strings.Cut(mime, "/"); kind {
	case "image":
		f.Image()
	case "audio":
		f.Sound(base64)
	case "video":
		f.Needs |= Documents
		f.Media.Videos++
		f.Media.VideoBytes += base64 / 4 * 3
	default:
		f.Document(base64)
	}
}

// ObserverOptions say what answer is observed.
type ObserverOptions struct {
	Stream    bool
	HideUsage bool          // the gateway asked for usage and the client did not: it is cut
	Encoding  string        // of vectors, as the client asked for it; see Facts
	Doc       *jsonspan.Doc // memory to parse in while the observer is used; nil: its own
}

// Memory gives the document to parse in.
func (o *ObserverOptions) Memory() *jsonspan.Doc {
	if o.Doc == nil {
		return new(jsonspan.Doc)
	}
	return o.Doc
}

// Observer reads a native answer on its way through: usage, the commit point, the end, failures. It keeps no frame.
type Observer interface {
	// Frame looks at one frame of a stream.
	Frame(f *frame.Frame) Seen
	// Whole looks at a whole body.
	Whole(body []byte) Seen
	// Usage is what has been seen of usage so far.
	Usage() sdk.Usage
	// Finish is the reason seen, if any.
	Finish() sdk.Reason
}

// Seen is what an observer saw in a frame or a body.
type Seen struct {
	Content bool         // commits the answer
	Done    bool         // the dialect's end mark: the answer is complete
	Failure *sdk.Failure // an error in the stream, or an error body under a status of success
	Cut     bool         // the client gets Out in place of the frame; nil Out: nothing
	Out     []byte       // valid until the next call
}

// EncoderOptions say what answer is written.
type EncoderOptions struct {
	Stream    bool
	WantUsage bool // show usage at the end of a stream
	RequestID string
	Model     string // as the client asked for it
	Created   time.Time
	Encoding  string // of vectors: base64, otherwise lists of numbers
	Framing   string // of a stream in a dialect that has two: "array", one JSON array; otherwise "" or "sse"
	Seams     *Seams // told of in the last event of a stream, as they are then; nil: there are none
}

// Encoder writes one answer in the client's dialect.
type Encoder interface {
	// Event appends what an event means to the client. Of a whole answer nothing is written before End. It keeps
	// nothing of the event but copies.
	Event(dst []byte, e *sdk.Event) []byte
	// End appends what ends a complete answer: the closing frames, or the whole body.
	End(dst []byte) []byte
}

// Batcher is implemented by a dialect that has a form of its own for several inputs at once, which its providers take at
// another path.
type Batcher interface{ Batched() bool }

// Embeds says whether a dialect is one for embeddings, by its name.
func Embeds(name string) bool { return strings.HasSuffix(name, "-embeddings") }

// EventNamer is implemented by a dialect whose streams name their events: EventName is the name of one that came without,
// since its provider frames streams in another way. doc is memory to parse in.
type EventNamer interface {
	EventName(doc *jsonspan.Doc, data []byte) string
}

// TypeName is the type that an event's data names; "" where it is no object with one.
func TypeName(doc *jsonspan.Doc, data []byte) string {
	if doc.Parse(data, jsonspan.Limits{AllowDuplicates: true}) != nil || doc.Kind(0) != jsonspan.Object {
		return ""
	}
	t, ok := doc.Member(0, "type")
	if !ok || doc.Kind(t) != jsonspan.String {
		return ""
	}
	return doc.Text(t)
}

// ErrorReader is implemented by a dialect whose error bodies have another form than OpenAI's: OwnError says whether a
// body has what the dialect's clients read, and so may pass as it is.
type ErrorReader interface {
	OwnError(doc *jsonspan.Doc) bool
}

// Bounded is implemented by an encoder that may have to hold events back and keeps a limited amount of them.
type Bounded interface {
	// Failure says why the answer cannot be written to its end; nil while it can. End then writes it as the error that
	// ends a stream.
	Failure() *sdk.Failure
}

// Failer is implemented by an encoder or an observer whose stream cannot end in failure without regard to what it has
// said before, such as one that numbers its events: it takes the place of the dialect's own AppendStreamError.
type Failer interface {
	AppendFailure(dst []byte, f *sdk.Failure, requestID string) []byte
}

// Continued is implemented by an observer whose dialect has requests that continue an answer by its id, at the account that
// gave it: AnswerID is that id, "" until it has been seen.
type Continued interface{ AnswerID() string }

// DoneMark is the data of the event that ends an openai-chat stream. Compatible services put it behind the streams of
// other dialects too, whose clients would take it for broken JSON.
const DoneMark = "[DONE]"

// Closer is implemented by an observer whose dialect has an end mark that clients wait for and some services leave out:
// AppendEnd writes it, once the reason of the end has been seen.
type Closer interface {
	AppendEnd(dst []byte) []byte
}

// AppendLine appends a JSON text without its line breaks, which would end a line of an event stream. Within a JSON string
// they are escaped, so nothing else is lost.
func AppendLine(dst, text []byte) []byte {
	for len(text) > 0 {
		i := bytes.IndexAny(text, "\r\n")
		if i < 0 {
			return append(dst, text...)
		}
		dst, text = append(dst, text[:i]...), text[i+1:]
	}
	return dst
}
