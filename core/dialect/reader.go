package dialect

import (
	"bytes"
	"math"
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Reader reads a request's members by their form and remembers the first that is not of it, so that a decoder can be
// written as a list of members. Node 0 is the whole request and no member's value: here it stands for a member that is
// absent or null, and everything read from it is absent too.
type Reader struct {
	*jsonspan.Doc
	fault *sdk.Failure
}

// Read begins reading a document.
func Read(doc *jsonspan.Doc) Reader { return Reader{Doc: doc} }

// Fault is the first member that was not what was wanted, as a *sdk.Failure; nil where there was none.
func (r *Reader) Fault() error {
	if r.fault == nil {
		return nil
	}
	return r.fault
}

// Refuse remembers that a value is at fault; why follows its path in the message. Only the first one counts.
func (r *Reader) Refuse(i int, why string) { r.RefuseAt(r.Path(i), why) }

// RefuseAt is Refuse for a member that is not there.
func (r *Reader) RefuseAt(path, why string) {
	if r.fault != nil {
		return
	}
	message := why
	if path != "" {
		message = path + ": " + why
	}
	r.fault = &sdk.Failure{Kind: sdk.BadRequest, Param: path, Message: message}
}

// Want remembers that a value is not what was wanted, such as "a string".
func (r *Reader) Want(i int, want string) {
	if r.fault == nil {
		r.Refuse(i, "want "+want+", got "+r.got(i))
	}
}

// Missing remembers that a member of an object is not there.
func (r *Reader) Missing(obj int, name string) {
	if r.fault != nil {
		return
	}
	path := name
	if p := r.Path(obj); p != "" {
		path = p + "." + name
	}
	r.RefuseAt(path, "is required")
}

// Get gives a member that is there and not null; 0 otherwise. It does not read the members of the whole request, which
// are gone through one by one.
func (r *Reader) Get(obj int, name string) int {
	if obj == 0 || r.Kind(obj) != jsonspan.Object {
		return 0
	}
	i, ok := r.Member(obj, name)
	if !ok || r.Kind(i) == jsonspan.Null {
		return 0
	}
	return i
}

// Name is a member's name, decoded. It is a slice of the body where nothing is escaped.
func (r *Reader) Name(key int) []byte {
	if r.Nodes[key].Flags&jsonspan.Escaped == 0 {
		return r.Inner(key)
	}
	return r.AppendText(nil, key)
}

// Content is a string's content, still escaped; absent for 0.
func (r *Reader) Content(i int) sdk.Text {
	if !r.is(i, jsonspan.String, "a string") {
		return sdk.Text{}
	}
	return sdk.RawText(r.Inner(i))
}

// Word is a short string, decoded; "" for 0.
func (r *Reader) Word(i int) string {
	if !r.is(i, jsonspan.String, "a string") {
		return ""
	}
	return r.Text(i)
}

// Size is how long the content of a string is, as it stands there; 0 for anything else.
func (r *Reader) Size(i int) int {
	if i == 0 || r.Kind(i) != jsonspan.String {
		return 0
	}
	return len(r.Inner(i))
}

// Object says whether the value is an object; false for 0 too, without a fault.
func (r *Reader) Object(i int) bool { return r.is(i, jsonspan.Object, "an object") }

// Array says whether the value is an array; false for 0 too, without a fault.
func (r *Reader) Array(i int) bool { return r.is(i, jsonspan.Array, "an array") }

// Whole is a count: a whole number that is not below zero; 0 for 0.
func (r *Reader) Whole(i int) int {
	if i == 0 {
		return 0
	}
	if n, ok := r.Int(i); ok && n >= 0 && n <= math.MaxInt32 {
		return int(n)
	}
	if f, ok := r.Float(i); ok && f >= 0 && f <= math.MaxInt32 && f == math.Trunc(f) {
		return int(f)
	}
	r.Want(i, "a whole number that is not below zero")
	return 0
}

// Limit is a count that is not zero either, as every service demands of a limit of the output; 0 for 0.
func (r *Reader) Limit(i int) int {
	n := r.Whole(i)
	if i > 0 && n == 0 {
		r.Want(i, "a whole number above zero")
	}
	return n
}

// Truth is a boolean; false for 0.
func (r *Reader) Truth(i int) bool {
	if i == 0 {
		return false
	}
	v, ok := r.Bool(i)
	if !ok {
		r.Want(i, "true or false")
	}
	return v
}

// TruthValue is a boolean as a value.
func (r *Reader) TruthValue(i int) sdk.Value {
	r.Truth(i)
	return r.Value(i)
}

// Number is a number as the client wrote it.
func (r *Reader) Number(i int) sdk.Value {
	if !r.is(i, jsonspan.Number, "a number") {
		return sdk.Value{}
	}
	return r.Value(i)
}

// Value is any value as the client wrote it; absent for 0.
func (r *Reader) Value(i int) sdk.Value {
	if i == 0 {
		return sdk.Value{}
	}
	return sdk.RawValue(r.Raw(i))
}

// is checks a kind; false without a fault for 0.
func (r *Reader) is(i int, kind jsonspan.Kind, want string) bool {
	if i == 0 {
		return false
	}
	if r.Kind(i) != kind {
		r.Want(i, want)
		return false
	}
	return true
}

// got describes a value for an error.
func (r *Reader) got(i int) string {
	switch r.Kind(i) {
	case jsonspan.Object:
		return "an object"
	case jsonspan.Array:
		return "an array"
	case jsonspan.String:
		if len(r.Inner(i)) > 40 {
			return "a string"
		}
		return strconv.Quote(r.Text(i))
	case jsonspan.Number:
		return string(r.Raw(i)[:min(len(r.Raw(i)), 40)])
	}
	return string(r.Raw(i))
}

// dataURLHead is more than the part of a data: URL before its data can sensibly be.
const dataURLHead = 256

// SplitDataURL splits the content of a JSON string that is a data: URL (RFC 2397) into its media type, in lower case and
// without parameters, and the base64 text, a slice of url. It is false for other URLs and for data that is not base64.
func SplitDataURL(url []byte) (mime string, data []byte, ok bool) {
	if len(url) < 5 || !bytes.EqualFold(url[:5], []byte("data:")) {
		return "", nil, false
	}
	comma := bytes.IndexByte(url[:min(len(url), dataURLHead)], ',')
	if comma < 0 {
		return "", nil, false
	}
	head, err := jsonspan.AppendUnescape(nil, url[5:comma])
	if err != nil {
		return "", nil, false
	}
	head = bytes.ToLower(head)
	head, ok = bytes.CutSuffix(bytes.TrimSpace(head), []byte(";base64"))
	if !ok {
		return "", nil, false
	}
	media, _, _ := bytes.Cut(head, []byte{';'})
	return MediaType(string(bytes.TrimSpace(media))), url[comma+1:], true
}

// MediaType gives the registered name of a media type that clients are known to misspell.
func MediaType(mime string) string {
	switch mime {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "audio/mp3":
		return "audio/mpeg"
	case "audio/x-wav", "audio/wave":
		return "audio/wav"
	}
	return mime
}
