package anthropic

import (
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
	hasMessages := false
	for k, v := range r.Members(0) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		name := string(r.Name(k))
		hasMessages = hasMessages || name == "messages"
		r.member(name, v)
	}
	if f.ModelNode == 0 {
		r.Missing(0, "model")
	}
	if !hasMessages {
		r.Missing(0, "messages")
	}
	f.WantUsage = f.Stream // the dialect has no stream without it
	return r.Fault()
}

// facts is a walk over a request.
type facts struct {
	dialect.Reader
	f *dialect.Facts
}

func (r *facts) need(n dialect.Need) { r.f.Needs |= n }

func (r *facts) needIf(yes bool, n dialect.Need) {
	if yes {
		r.need(n)
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
	case "max_tokens":
		r.f.MaxOutput = r.Whole(v)
	case "messages":
		r.messages(v)
	case "system":
		r.content(v)
	case "tools":
		if r.Array(v) && r.Len(v) > 0 {
			r.need(dialect.Tools)
			r.f.Tools = r.Len(v)
			r.f.TextBytes += len(r.Raw(v))
		}
	case "thinking": // adaptive leaves it to the model, of which one that does not think is no other
		r.needIf(r.Object(v) && !r.Is(r.Get(v, "type"), "disabled") && !r.Is(r.Get(v, "type"), "adaptive"), dialect.Thinking)
	case "output_config":
		if r.Object(v) {
			r.f.Effort = r.Word(r.Get(v, "effort"))
			r.needIf(r.Is(r.Get(r.Get(v, "format"), "type"), "json_schema"), dialect.JSONSchema)
		}
	case "output_format":
		r.needIf(r.Is(r.Get(v, "type"), "json_schema"), dialect.JSONSchema)
	case "metadata":
		if id := r.Get(v, "user_id"); r.Kind(id) == jsonspan.String {
			r.f.User = r.Text(id)
		}
	}
}

func (r *facts) messages(v int) {
	if !r.Array(v) {
		return
	}
	r.f.Messages = r.Len(v)
	if r.f.Messages == 0 {
		r.Refuse(v, "want at least one message")
	}
	prefill := false
	for m := range r.Items(v) {
		r.f.Results = false
		if prefill = false; r.Object(m) {
			prefill = r.message(m)
		}
	}
	r.needIf(prefill, dialect.Prefill)
}

// message reads one message; prefill says that it is the beginning of an answer where it is the last one. A turn that
// ends in a block of a server tool is no text to go on with, but a turn that was paused.
func (r *facts) message(m int) (prefill bool) {
	role := 0
	calls, text := 0, false
	for k, v := range r.Members(m) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		switch string(r.Name(k)) {
		case "role":
			role = v
			r.Content(v)
		case "content":
			calls, text = r.content(v)
		}
	}
	if role == 0 {
		r.Missing(m, "role")
	}
	r.needIf(calls > 1, dialect.ParallelTools)
	return text && role > 0 && r.Is(role, "assistant")
}

// content counts the text of a string or of blocks, sees what the blocks call for, and counts the tool calls. text says
// that it ends in text.
func (r *facts) content(v int) (calls int, text bool) {
	switch r.Kind(v) {
	case jsonspan.String:
		r.f.TextBytes += len(r.Inner(v))
		text = true
	case jsonspan.Array:
		for b := range r.Items(v) {
			if !r.Object(b) {
				continue
			}
			if r.block(b) {
				calls++
			}
			text = r.Is(r.Get(b, "type"), "text")
		}
	default:
		r.Want(v, "a string or a list of blocks")
	}
	return calls, text
}

// block looks at one block; call says that it is a tool call.
func (r *facts) block(b int) (call bool) {
	t := r.Get(b, "type")
	switch {
	case t == 0:
		r.Missing(b, "type")
	case r.Is(t, "text"):
		r.text(b, "text")
	case r.Is(t, "image"):
		r.f.Image()
	case r.Is(t, "document"):
		source := r.Get(b, "source")
		if r.Is(r.Get(source, "type"), "text") {
			r.need(dialect.Documents)
			r.text(source, "data")
		} else {
			r.f.Document(r.Size(r.Get(source, "data")))
		}
	case r.Is(t, "tool_use"):
		r.need(dialect.Tools)
		r.f.TextBytes += len(r.Raw(b))
		return true
	case r.Is(t, "tool_result"):
		r.need(dialect.Tools)
		r.f.Results = true
		if c := r.Get(b, "content"); c > 0 {
			r.content(c)
		}
	case r.Is(t, "thinking"):
		r.text(b, "thinking")
	default: // of a server tool, as a rule: the model reads it whole
		r.Content(t)
		r.f.TextBytes += len(r.Raw(b))
	}
	return false
}

func (r *facts) text(b int, name string) {
	if t := r.Get(b, name); r.Kind(t) == jsonspan.String {
		r.f.TextBytes += len(r.Inner(t))
	}
}
