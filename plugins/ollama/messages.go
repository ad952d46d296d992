package ollama

import (
	"slices"

	"github.com/penstock-gateway/penstock/sdk"
)

// block is a part of a message and where the client has it.
type block struct {
	*sdk.Part
	path string
}

// message is what a message says, sorted.
type message struct {
	role           sdk.Role
	calls, results []block
	thoughts       []sdk.Text
	texts          []sdk.Text
	images         []sdk.Text
}

func (m *message) empty() bool {
	return len(m.calls)+len(m.results)+len(m.texts)+len(m.images) == 0
}

// writeMessages writes the messages in the client's order. Results alone are moved: the API knows them by the names of
// their tools, so they stand behind their calls and in the order of those.
func (e *encoding) writeMessages() error {
	var said []message
	for i := range e.Messages {
		m := message{role: e.Messages[i].Role}
		if err := e.sort(&m, e.Messages[i].Parts, e.Messages[i].Path); err != nil {
			return err
		}
		if !m.empty() {
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
	var calls []block
	for len(said) > 0 {
		if m := &said[0]; m.role == sdk.Assistant {
			if err := e.assistant(m); err != nil {
				return err
			}
			calls, said = m.calls, said[1:]
			continue
		}
		n := slices.IndexFunc(said, func(m message) bool { return m.role == sdk.Assistant })
		if n < 0 {
			n = len(said)
		}
		if err := e.between(said[:n], calls); err != nil {
			return err
		}
		calls, said = nil, said[n:]
	}
	e.w.EndArray()
	return nil
}

// sort puts the parts of a message in their places.
func (e *encoding) sort(m *message, parts []sdk.Part, path string) error {
	for i := range parts {
		b := block{&parts[i], sdk.PartPath(path, parts, i)}
		switch b.Kind {
		case sdk.PartText, sdk.PartRefusal:
			m.say(b.Text)
		case sdk.PartThinking:
			if b.Signature.Empty() {
				m.thoughts = append(m.thoughts, b.Text)
			} else {
				e.plan.Drop(b.path, "another provider's reasoning")
			}
		case sdk.PartRedacted:
			e.plan.Drop(b.path, "another provider's sealed reasoning")
		case sdk.PartCall:
			m.calls = append(m.calls, b)
		case sdk.PartResult:
			m.results = append(m.results, b)
		case sdk.PartImage:
			if b.Media == nil || !b.Media.Data.Present() {
				return &sdk.Inexpressible{What: "an image by its address", Path: b.path}
			}
			m.images = append(m.images, b.Media.Data)
		case sdk.PartDocument:
			if b.Media == nil || !b.Media.Body.Present() {
				return &sdk.Inexpressible{What: "a document that is no text", Path: b.path}
			}
			e.plan.DropAbout(b.path, b.Media, false)
			e.plan.Approximate(b.path, "the document is sent as text")
			m.say(b.Media.Body)
		case sdk.PartAudio:
			return &sdk.Inexpressible{What: "audio input", Path: b.path}
		case sdk.PartVideo:
			return &sdk.Inexpressible{What: "video input", Path: b.path}
		default:
			e.plan.LeavePart(b.Part, b.path, "the API has no such part")
		}
	}
	return nil
}

// say adds a text, on a line of its own: the API takes one text a message.
func (m *message) say(t sdk.Text) {
	if t.Empty() {
		return
	}
	if len(m.texts) > 0 {
		m.texts = append(m.texts, sdk.T("\n"))
	}
	m.texts = append(m.texts, t)
}

// body writes what every message has.
func (e *encoding) body(role string, m *message) {
	e.w.Name("role").String(role)
	e.w.Name("content").Joined(m.texts...)
	if len(m.images) > 0 {
		e.w.Name("images").Array()
		for _, data := range m.images {
			e.w.Text(data)
		}
		e.w.EndArray()
	}
}

func (e *encoding) assistant(m *message) error {
	e.w.Object()
	e.body("assistant", m)
	if len(m.thoughts) > 0 {
		e.w.Name("thinking").Joined(m.thoughts...)
	}
	if len(m.calls) > 0 {
		e.w.Name("tool_calls").Array()
		for _, b := range m.calls {
			if b.Call == nil || b.Call.Name.Empty() {
				return &sdk.Invalid{Path: b.path, Message: "want a tool call with a name"}
			}
			e.w.Object()
			e.w.Name("function").Object()
			e.w.Name("name").Text(b.Call.Name)
			e.w.Name("arguments").Arguments(b.Call)
			e.w.EndObject()
			e.w.EndObject()
		}
		e.w.EndArray()
	}
	e.w.EndObject()
	return nil
}

// between writes what is said between two messages of the model, of which the first made calls.
func (e *encoding) between(said []message, calls []block) error {
	answers := make([]*block, len(calls))
	for i := range said {
		for j := range said[i].results {
			b := &said[i].results[j]
			n := answered(b.Result, calls, answers)
			if n < 0 {
				return &sdk.Invalid{Path: b.path, Message: "want the result of a call in the message before it"}
			}
			answers[n] = b
		}
	}
	for n, b := range answers {
		if b == nil {
			continue
		}
		if err := e.result(b, calls[n].Call.Name); err != nil {
			return err
		}
	}
	for i := range said {
		m := &said[i]
		if len(m.texts)+len(m.images) == 0 {
			continue
		}
		role := "user"
		if m.role == sdk.System || m.role == sdk.Developer {
			role = "system"
		}
		e.w.Object()
		e.body(role, m)
		e.w.EndObject()
	}
	return nil
}

// answered gives the number of the call that a result answers: that of its id, or the first open one of its tool where it
// has none; -1 where there is none.
func answered(r *sdk.Result, calls []block, answers []*block) int {
	if r == nil {
		return -1
	}
	for i, b := range calls {
		if answers[i] != nil {
			continue
		}
		if r.ID.Empty() && (r.Name.Empty() || same(r.Name, b.Call.Name)) || !r.ID.Empty() && same(r.ID, b.Call.ID) {
			return i
		}
	}
	return -1
}

// same says whether two texts are the same, as far as they are seen.
func same(a, b sdk.Text) bool {
	x, y := a.Facts(), b.Facts()
	return x.Len == y.Len && string(x.Head) == string(y.Head) && string(x.Tail) == string(y.Tail)
}

func (e *encoding) result(b *block, name sdk.Text) error {
	var m message
	if err := e.sort(&m, b.Result.Parts, b.path); err != nil {
		return err
	}
	if b.Result.Error {
		e.plan.Drop(b.path+".is_error", "the API has no mark for results that failed")
	}
	e.w.Object()
	e.body("tool", &m)
	e.w.Name("tool_name").Text(name)
	e.w.EndObject()
	return nil
}
