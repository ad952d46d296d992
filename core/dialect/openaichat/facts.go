package openaichat

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
	f           *dialect.Facts
	oldLimit    int // max_tokens
	hasMessages bool
	effortOff   bool
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
	if !r.hasMessages {
		r.Missing(0, "messages")
	}
	if r.f.MaxOutput == 0 {
		r.f.MaxOutput = r.oldLimit
	}
	if r.effortOff {
		r.f.Needs &^= dialect.Thinking
	}
}

// member reads one top-level member that is not null.
func (r *facts) member(name string, v int) {
	switch name {
	case "model":
		r.model(v)
	case "stream":
		r.f.Stream = r.Truth(v)
	case "stream_options":
		if r.Object(v) {
			r.f.WantUsage = r.Truth(r.Get(v, "include_usage"))
		}
	case "messages":
		r.hasMessages = true
		r.messages(v)
	case "tools", "functions":
		if r.Array(v) && r.Len(v) > 0 {
			r.need(dialect.Tools)
			r.f.Tools += r.Len(v)
			r.f.TextBytes += len(r.Raw(v))
		}
	case "max_completion_tokens":
		r.f.MaxOutput = r.Whole(v)
	case "max_tokens":
		r.oldLimit = r.Whole(v)
	case "n":
		r.needIf(r.Whole(v) > 1, dialect.Several)
	case "logprobs":
		r.needIf(r.Kind(v) == jsonspan.True, dialect.Logprobs)
	case "response_format":
		r.needIf(r.Is(r.Get(v, "type"), "json_schema"), dialect.JSONSchema)
	case "user":
		r.f.User = r.Word(v)
	case "safety_identifier":
		if r.f.User == "" {
			r.f.User = r.Word(v)
		}
	case "modalities":
		if r.Array(v) {
			for m := range r.Items(v) {
				r.needIf(r.Is(m, "audio"), dialect.Audio)
			}
		}
	default:
		r.thinking(name, v)
	}
}

func (r *facts) model(v int) {
	r.f.Model, r.f.ModelNode = r.Word(v), v
	if r.f.Model == "" {
		r.Want(v, "the name of a model")
	}
}

// thinking reads the reasoning switches: OpenAI's own, and those that compatible services have.
func (r *facts) thinking(name string, v int) {
	switch name {
	case "reasoning_effort":
		r.effort(v)
	case "reasoning": // OpenRouter
		if e := r.Get(v, "effort"); e > 0 {
			r.effort(e)
		} else if r.Kind(r.Get(v, "enabled")) != jsonspan.False {
			r.need(dialect.Thinking)
		}
	case "thinking": // Z.ai, DeepSeek
		r.needIf(r.Is(r.Get(v, "type"), "enabled") || r.Is(r.Get(v, "type"), "adaptive"), dialect.Thinking)
	case "enable_thinking": // Qwen
		r.needIf(r.Kind(v) == jsonspan.True, dialect.Thinking)
	}
}

func (r *facts) effort(v int) {
	r.f.Effort = r.Word(v)
	r.needIf(r.f.Effort != "", dialect.Thinking)
	r.effortOff = r.f.Effort == "none"
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
		if prefill = false; r.Object(m) {
			prefill = r.message(m)
		}
	}
	r.needIf(prefill, dialect.Prefill)
}

// message reads one message; prefill says that it is the beginning of an answer where it is the last one.
func (r *facts) message(m int) (prefill bool) {
	role := 0
	calls := 0
	for k, v := range r.Members(m) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		switch string(r.Name(k)) {
		case "role":
			role = v
			r.Content(v)
		case "content":
			r.content(v)
		case "tool_calls":
			if r.Array(v) {
				calls = r.Len(v)
				r.f.TextBytes += len(r.Raw(v))
			}
		}
	}
	if role == 0 {
		r.Missing(m, "role")
	}
	r.f.Results = role > 0 && (r.Is(role, "tool") || r.Is(role, "function"))
	if calls > 0 {
		r.need(dialect.Tools)
		r.needIf(calls > 1, dialect.ParallelTools)
		return false
	}
	return role > 0 && r.Is(role, "assistant")
}

// content counts the text of a message and sees what its parts call for.
func (r *facts) content(v int) {
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
	t := r.Get(p, "type")
	if t == 0 {
		r.Missing(p, "type")
		return
	}
	switch {
	case r.Is(t, "text"), r.Is(t, "input_text"), r.Is(t, "output_text"):
		if text := r.Get(p, "text"); text > 0 && r.Kind(text) == jsonspan.String {
			r.f.TextBytes += len(r.Inner(text))
		}
	case r.Is(t, "image_url"), r.Is(t, "input_image"):
		r.f.Image()
	case r.Is(t, "input_audio"):
		r.f.Sound(r.Size(r.Get(r.Get(p, "input_audio"), "data")))
	case r.Is(t, "file"), r.Is(t, "document_url"):
		r.file(p)
	default:
		r.Content(t)
	}
}

// file is a document, or an image that is sent as a file.
func (r *facts) file(p int) {
	data := r.Get(r.Get(p, "file"), "file_data")
	if data > 0 && r.Kind(data) == jsonspan.String {
		if mime, _, ok := dialect.SplitDataURL(r.Inner(data)); ok && strings.HasPrefix(mime, "image/") {
			r.f.Image()
			return
		}
	}
	r.f.Document(r.Size(data))
}
