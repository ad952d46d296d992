package openairesponses

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Facts reads what admission and routing need. It checks only what the gateway itself relies on: whatever else is wrong
// with a request that passes through, its provider says better.
func (Dialect) Facts(doc *jsonspan.Doc, f *dialect.Facts) error {
	r := facts{Reader: dialect.Read(doc), f: f}
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	r.top()
	return r.Fault()
}

// facts is a walk over a request.
type facts struct {
	dialect.Reader
	f         *dialect.Facts
	calls     int // of the turn that is being read
	effortOff bool
	later     int // the member that wants the answer made in the background; 0: none does
}

func (r *facts) need(n dialect.Need) { r.f.Needs |= n }

func (r *facts) needIf(yes bool, n dialect.Need) {
	if yes {
		r.need(n)
	}
}

func (r *facts) top() {
	for k, v := range r.Members(0) {
		if r.Kind(v) != jsonspan.Null {
			r.member(string(r.Name(k)), v)
		}
	}
	if r.f.ModelNode == 0 {
		r.Missing(0, "model")
	}
	if r.later > 0 && !r.f.Stream { // who is streamed it has it here and now
		r.Refuse(r.later, unfetched)
	}
	r.f.WantUsage = r.f.Stream // the dialect always shows its usage
	if r.effortOff {
		r.f.Needs &^= dialect.Thinking
	}
}

// member reads one top-level member that is not null.
func (r *facts) member(name string, v int) {
	switch name {
	case "model":
		r.f.Model, r.f.ModelNode = r.Word(v), v
		if r.f.Model == "" {
			r.Want(v, "the name of a model")
		}
	case "stream":
		r.f.Stream = r.Truth(v)
	case "input":
		r.input(v)
	case "instructions":
		r.f.TextBytes += len(r.Inner(v))
	case "tools":
		if r.Array(v) && r.Len(v) > 0 {
			r.need(dialect.Tools)
			r.f.Tools = r.Len(v)
			r.f.TextBytes += len(r.Raw(v))
		}
	case "max_output_tokens":
		r.f.MaxOutput = r.Whole(v)
	case "text":
		r.needIf(r.Is(r.Get(r.Get(v, "format"), "type"), "json_schema"), dialect.JSONSchema)
	case "reasoning":
		if e := r.Get(v, "effort"); e > 0 {
			r.f.Effort = r.Word(e)
			r.need(dialect.Thinking)
			r.effortOff = r.f.Effort == "none"
		}
	default:
		r.state(name, v)
	}
}

// unfetched is why nothing is begun in the background: its price is known only to who fetches the answer later, and the
// routes to fetch, cancel and delete one are not served.
const unfetched = "an answer that is made in the background cannot be fetched through the gateway, want false, " +
	"or \"stream\": true beside it"

// state reads what names the user, what the request continues, and whether the answer is to be fetched later.
func (r *facts) state(name string, v int) {
	switch name {
	case "user":
		r.f.User = r.Word(v)
	case "safety_identifier":
		if r.f.User == "" {
			r.f.User = r.Word(v)
		}
	case "previous_response_id":
		r.f.State = r.Word(v)
	case "conversation":
		if r.Kind(v) == jsonspan.Object {
			v = r.Get(v, "id")
		}
		r.f.State = r.Word(v)
	case "background":
		if r.Truth(v) {
			r.later = v
		}
	case "include":
		if r.Array(v) {
			for i := range r.Items(v) {
				r.needIf(r.Is(i, logprobsOfText), dialect.Logprobs)
			}
		}
	}
}

func (r *facts) input(v int) {
	switch r.Kind(v) {
	case jsonspan.String:
		r.f.Messages = 1
		r.f.TextBytes += len(r.Inner(v))
		return
	case jsonspan.Array:
	default:
		r.Want(v, "a string or a list of items")
		return
	}
	r.f.Messages = r.Len(v)
	prefill := false
	for i := range r.Items(v) {
		r.f.Results = false
		if prefill = false; r.Object(i) {
			prefill = r.item(i)
		}
	}
	r.needIf(prefill, dialect.Prefill)
}

// item reads one item; prefill says that it is the beginning of an answer where it is the last one.
func (r *facts) item(i int) (prefill bool) {
	t := r.Get(i, "type")
	role := r.Get(i, "role")
	call := t > 0 && (r.Is(t, "function_call") || r.Is(t, "custom_tool_call"))
	if !call {
		r.calls = 0
	}
	switch {
	case t == 0 && role == 0:
		r.Missing(i, "type")
	case t == 0 || r.Is(t, "message"):
		r.content(r.Get(i, "content"))
		return r.Is(role, "assistant")
	case call:
		r.calls++
		r.need(dialect.Tools)
		r.needIf(r.calls > 1, dialect.ParallelTools)
		r.f.TextBytes += len(r.Raw(i))
	case r.Is(t, "function_call_output"), r.Is(t, "custom_tool_call_output"):
		r.f.Results = true
		r.content(r.Get(i, "output"))
	case r.Is(t, "reasoning"):
		r.content(r.Get(i, "summary"))
	default:
		r.f.TextBytes += len(r.Raw(i))
	}
	return false
}

// content counts the text of an item and sees what its parts call for.
func (r *facts) content(v int) {
	if v == 0 {
		return
	}
	switch r.Kind(v) {
	case jsonspan.String:
		r.f.TextBytes += len(r.Inner(v))
	case jsonspan.Array:
		for p := range r.Items(v) {
			if r.Object(p) {
				r.part(p)
			}
		}
	default:
		r.Want(v, "a string or a list of parts")
	}
}

func (r *facts) part(p int) {
	switch t := r.Get(p, "type"); {
	case t == 0:
		r.Missing(p, "type")
	case r.Is(t, "input_image"):
		r.f.Image()
	case r.Is(t, "input_audio"):
		r.f.Sound(r.Size(r.Get(r.Get(p, "input_audio"), "data")))
	case r.Is(t, "input_file"):
		if r.imageFile(p) {
			r.f.Image()
		} else {
			r.f.Document(r.Size(r.Get(p, "file_data")))
		}
	default:
		if text := r.Get(p, "text"); text > 0 && r.Kind(text) == jsonspan.String {
			r.f.TextBytes += len(r.Inner(text))
		}
	}
}

// imageFile says whether a file is an image.
func (r *facts) imageFile(p int) bool {
	data := r.Get(p, "file_data")
	if data == 0 || r.Kind(data) != jsonspan.String {
		return false
	}
	mime, _, ok := dialect.SplitDataURL(r.Inner(data))
	return ok && strings.HasPrefix(mime, "image/")
}
