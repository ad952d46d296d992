package anthropic

import (
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// block is a part of a turn and where the client has it.
type block struct {
	*sdk.Part
	path string
}

// turn is what one side says until the other speaks. In a turn of the user, results of tools come first: all results of
// parallel calls belong to the one turn after them
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use, parallel tool use).
type turn struct {
	assistant bool
	results   []block
	rest      []block
}

func (t *turn) blocks() []block { return append(t.results[:len(t.results):len(t.results)], t.rest...) }

// arrange sorts the client's messages into system text and turns.
//
// System messages at the beginning become the system text. A later one stays in its place, as text of the user: moving
// it to the front would change the beginning of every following request, and with it pay for the whole prompt again.
func (e *encoding) arrange() error {
	leading := true
	var last *sdk.Message
	for i := range e.Messages {
		m := &e.Messages[i]
		if leading = leading && (m.Role == sdk.System || m.Role == sdk.Developer); leading {
			e.system = append(e.system, e.spoken(m)...)
			last = m
			continue
		}
		bs := e.spoken(m)
		if len(bs) == 0 && m.Role == sdk.User {
			e.plan.Drop(m.Path, "the message is empty")
		}
		if len(bs) > 0 && (m.Role == sdk.System || m.Role == sdk.Developer) {
			e.plan.Approximate(m.Path, "a system text after the first turn is sent as text of the user")
		}
		e.speak(m.Role == sdk.Assistant, bs)
		last = m
	}
	if leading && len(e.system) > 0 {
		// System text alone is no request: its last message is taken as the user's.
		e.plan.Approximate(last.Path, "a request needs a message of the user: the last system message is sent as one")
		n := len(e.system) - len(e.spoken(last))
		e.speak(false, e.system[n:])
		e.system = e.system[:n]
	}
	switch {
	case len(e.turns) == 0 && last == nil:
		return &sdk.Invalid{Path: "messages", Message: "want a message that says something"}
	case len(e.turns) == 0, e.turns[len(e.turns)-1].assistant && last.Role != sdk.Assistant:
		// Left out, it would let the model go on with its own last words.
		return &sdk.Invalid{Path: last.Path, Message: "the last message is empty"}
	}
	e.begin()
	return nil
}

// begin puts a turn of the user in front of a conversation that the assistant opens, such as with a greeting: the first
// message must be the user's (https://github.com/livekit/agents/pull/669), and a text must not be blank.
func (e *encoding) begin() {
	if first := &e.turns[0]; first.assistant && len(first.rest) > 0 {
		e.plan.Approximate(first.rest[0].path, "the first message must be the user's: a full stop is sent before it")
		e.turns = slices.Insert(e.turns, 0, turn{rest: []block{{Part: &sdk.Part{Kind: sdk.PartText, Text: sdk.T(".")}}}})
	}
}

// spoken gives the parts of a message that say something: a text that is empty or blank is refused by the API.
func (e *encoding) spoken(m *sdk.Message) []block {
	var bs []block
	for i := range m.Parts {
		p := block{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		if (p.Kind == sdk.PartText || p.Kind == sdk.PartRefusal) && blank(p.Text) {
			continue
		}
		if p.Kind == sdk.PartThinking && p.Signature.Empty() {
			// Another model's: the API checks signatures, and would refuse it.
			e.plan.Drop(p.path, "reasoning without a signature")
			continue
		}
		if p.Kind == sdk.PartRedacted && p.Type != "" && !strings.HasPrefix(p.Type, "anthropic") {
			e.plan.Drop(p.path, "another provider's sealed reasoning")
			continue
		}
		if !speakable(p.Kind, m.Role) {
			e.plan.LeavePart(p.Part, p.path, "the Messages API has no such part here")
			continue
		}
		bs = append(bs, p)
	}
	return bs
}

// speakable says whether one side may say a part of a kind. What it may not is left out before turns are made, since a turn
// that is left with nothing in it would be refused.
func speakable(kind sdk.PartKind, by sdk.Role) bool {
	switch kind {
	case sdk.PartText, sdk.PartRefusal:
		return true
	case sdk.PartCall, sdk.PartThinking, sdk.PartRedacted:
		return by == sdk.Assistant
	case sdk.PartImage, sdk.PartDocument, sdk.PartResult, sdk.PartAudio, sdk.PartVideo: // sound and films are refused when they are written
		return by != sdk.Assistant
	}
	return false
}

// speak adds to the turn under way where the same side goes on, and begins a new one otherwise.
func (e *encoding) speak(assistant bool, bs []block) {
	if len(bs) == 0 {
		return
	}
	if n := len(e.turns); n == 0 || e.turns[n-1].assistant != assistant {
		e.turns = append(e.turns, turn{assistant: assistant})
	}
	t := &e.turns[len(e.turns)-1]
	for _, b := range bs {
		if b.Kind == sdk.PartResult && !assistant {
			t.results = append(t.results, b)
		} else {
			t.rest = append(t.rest, b)
		}
	}
}

// blank says whether a text is empty or holds white space only. A held text is long, and taken to say something.
func blank(t sdk.Text) bool { return !t.Held() && t.TrimEnd().Empty() }
