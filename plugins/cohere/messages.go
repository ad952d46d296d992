package cohere

import (
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// openCall is a call that waits for its result.
type openCall struct{ id, name string }

// block is a part of a message and where the client has it.
type block struct {
	*sdk.Part
	path string
}

// message is what a message says, sorted.
type message struct {
	role                 sdk.Role
	calls, results, rest []block
}

// writeMessages writes the messages in the client's order: the API takes system messages anywhere. Results alone are
// moved, to stand behind their calls.
func (e *encoding) writeMessages() error {
	var said []message
	for i := range e.Messages {
		if m := e.sorted(&e.Messages[i]); len(m.calls)+len(m.results)+len(m.rest) > 0 {
			said = append(said, m)
		}
	}
	if len(said) == 0 {
		return &sdk.Invalid{Path: "messages", Message: "want a message that says something"}
	}
	if last := &e.Messages[len(e.Messages)-1]; said[len(said)-1].role == sdk.Assistant && last.Role != sdk.Assistant {
		// Left out, it would let the model go on with its own last words.
		return &sdk.Invalid{Path: last.Path, Message: "the last message is empty"}
	}
	e.w.Name("messages").Array()
	for len(said) > 0 {
		if said[0].role == sdk.Assistant {
			if err := e.assistant(said[0].calls, said[0].rest); err != nil {
				return err
			}
			said = said[1:]
			continue
		}
		n := slices.IndexFunc(said, func(m message) bool { return m.role == sdk.Assistant })
		if n < 0 {
			n = len(said)
		}
		if err := e.between(said[:n]); err != nil {
			return err
		}
		said = said[n:]
	}
	e.w.EndArray()
	return nil
}

// between writes what is said between two messages of the model.
func (e *encoding) between(said []message) error {
	for _, m := range said {
		for _, b := range m.results {
			if err := e.result(b); err != nil {
				return err
			}
		}
	}
	for _, m := range said {
		if len(m.rest) == 0 {
			continue
		}
		if err := e.speaker(m.role, m.rest); err != nil {
			return err
		}
	}
	return nil
}

// sorted sorts what a message says.
func (e *encoding) sorted(m *sdk.Message) message {
	s := message{role: m.Role}
	for i := range m.Parts {
		b := block{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		switch b.Kind {
		case sdk.PartCall:
			s.calls = append(s.calls, b)
		case sdk.PartResult:
			s.results = append(s.results, b)
		case sdk.PartThinking, sdk.PartRedacted:
			e.plan.Drop(b.path, "reasoning of an earlier turn")
		case sdk.PartForeign:
			e.plan.LeavePart(b.Part, b.path, "the API has no such part")
		default:
			if (b.Kind == sdk.PartText || b.Kind == sdk.PartRefusal) && b.Text.Empty() {
				continue
			}
			s.rest = append(s.rest, b)
		}
	}
	return s
}

// speaker writes a message of the user or the system.
func (e *encoding) speaker(role sdk.Role, parts []block) error {
	name := "user"
	if role == sdk.System || role == sdk.Developer {
		name = "system"
	}
	e.w.Object()
	e.w.Name("role").String(name)
	if err := e.content(parts); err != nil {
		return err
	}
	e.w.EndObject()
	return nil
}

// content writes parts, as a text where there is no more than one.
func (e *encoding) content(parts []block) error {
	if len(parts) == 1 && (parts[0].Kind == sdk.PartText || parts[0].Kind == sdk.PartRefusal) {
		e.w.Name("content").Text(parts[0].Text)
		return nil
	}
	e.w.Name("content").Array()
	for _, b := range parts {
		if err := e.part(b); err != nil {
			return err
		}
	}
	e.w.EndArray()
	return nil
}

func (e *encoding) part(b block) error {
	text := b.Text
	switch {
	case b.Kind == sdk.PartText, b.Kind == sdk.PartRefusal:
	case b.Kind == sdk.PartDocument && b.Media != nil && b.Media.Body.Present():
		e.plan.DropAbout(b.path, b.Media, false)
		e.plan.Approximate(b.path, "the document is sent as text")
		text = b.Media.Body
	case b.Kind == sdk.PartImage && b.Media != nil:
		return e.image(b)
	case b.Kind == sdk.PartAudio:
		return &sdk.Inexpressible{What: "audio input", Path: b.path}
	case b.Kind == sdk.PartVideo:
		return &sdk.Inexpressible{What: "video input", Path: b.path}
	default:
		return &sdk.Inexpressible{What: "a document that is no text", Path: b.path}
	}
	e.w.Object()
	e.w.Name("type").String("text")
	e.w.Name("text").Text(text)
	e.w.EndObject()
	return nil
}

// image writes an image by its address, or within one: data:….
func (e *encoding) image(b block) error {
	m := b.Media
	if !m.URL.Present() && !m.Data.Present() {
		return &sdk.Inexpressible{What: "an image by another provider's file id", Path: b.path}
	}
	if !m.URL.Present() && m.MIME == "" {
		return &sdk.Inexpressible{What: "an image of an unknown type", Path: b.path}
	}
	e.w.Object()
	e.w.Name("type").String("image_url")
	e.w.Name("image_url").Object()
	if m.URL.Present() {
		e.w.Name("url").Text(m.URL)
	} else {
		e.w.Name("url").Joined(sdk.T("data:"+m.MIME+";base64,"), m.Data)
	}
	if m.Detail == "auto" || m.Detail == "low" || m.Detail == "high" {
		e.w.Name("detail").String(m.Detail)
	}
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// assistant writes a message of the model: its text and its calls.
func (e *encoding) assistant(calls, rest []block) error {
	e.open = nil
	e.w.Object()
	e.w.Name("role").String("assistant")
	if len(rest) > 0 {
		if err := e.content(rest); err != nil {
			return err
		}
	}
	if len(calls) > 0 {
		e.w.Name("tool_calls").Array()
		for _, b := range calls {
			if err := e.call(b); err != nil {
				return err
			}
		}
		e.w.EndArray()
	}
	e.w.EndObject()
	return nil
}

func (e *encoding) call(b block) error {
	c := b.Call
	if c == nil {
		return &sdk.Invalid{Path: b.path, Message: "want a tool call"}
	}
	name, err := e.toolName(c.Name, b.path+".name")
	if err != nil {
		return err
	}
	id := callID(c.ID)
	if id == "" {
		e.made++
		id = "call_" + strconv.Itoa(e.made)
	}
	e.open = append(e.open, openCall{id, name})
	e.w.Object()
	e.w.Name("id").String(id)
	e.w.Name("type").String("function")
	e.w.Name("function").Object()
	e.w.Name("name").String(name)
	e.w.Name("arguments").ArgumentsText(c)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// result writes a message of a tool.
func (e *encoding) result(b block) error {
	r := b.Result
	if r == nil {
		return &sdk.Invalid{Path: b.path, Message: "want a tool result"}
	}
	id := e.answered(r)
	if id == "" {
		return &sdk.Invalid{Path: b.path, Message: "want the result of a call in the message before it"}
	}
	var texts []block
	for i := range r.Parts {
		p := block{&r.Parts[i], sdk.PartPath(b.path, r.Parts, i)}
		switch p.Kind {
		case sdk.PartText, sdk.PartRefusal:
			texts = append(texts, p)
		case sdk.PartDocument:
			texts = append(texts, p)
		case sdk.PartImage:
			return &sdk.Inexpressible{What: "an image in a tool's result", Path: p.path}
		default:
			e.plan.Lose(p.path, "a result holds text only")
		}
	}
	if r.Error {
		e.plan.Drop(b.path+".is_error", "the API has no mark for results that failed")
	}
	e.w.Object()
	e.w.Name("role").String("tool")
	e.w.Name("tool_call_id").String(id)
	if len(texts) == 0 {
		e.w.Name("content").String("")
	} else if err := e.content(texts); err != nil {
		return err
	}
	e.w.EndObject()
	return nil
}

// answered gives the id of the call that a result answers. A result without an id answers the first open call of its
// tool, as Gemini has it; "" where there is none.
func (e *encoding) answered(r *sdk.Result) string {
	id := callID(r.ID)
	name, _ := r.Name.Decoded()
	if short, ok := e.names[name]; ok {
		name = short
	}
	for i, c := range e.open {
		if id == c.id || id == "" && (name == "" || name == c.name) {
			e.open = append(e.open[:i:i], e.open[i+1:]...)
			return c.id
		}
	}
	return id
}
