package gemini

import (
	"slices"

	"github.com/penstock-gateway/penstock/sdk"
)

// block is a part of a turn and where the client has it.
type block struct {
	*sdk.Part
	path string
}

// turn is what one side says until the other speaks.
type turn struct {
	model bool
	parts []block
}

// arrange sorts the client's messages into the system text and turns. System messages at the beginning become the system
// instruction; a later one stays in its place, as text of the user, for moving it to the front would change the
// beginning of every following request.
func (e *encoding) arrange() error {
	leading := true
	for i := range e.Messages {
		m := &e.Messages[i]
		said := e.spoken(m)
		if leading = leading && (m.Role == sdk.System || m.Role == sdk.Developer); leading {
			e.system = append(e.system, said...)
			continue
		}
		if len(said) > 0 && (m.Role == sdk.System || m.Role == sdk.Developer) {
			e.plan.Approximate(m.Path, "a system text after the first turn is sent as text of the user")
		}
		e.speak(m.Role == sdk.Assistant, said)
	}
	if len(e.turns) == 0 && len(e.system) > 0 {
		// System text alone is no request: it is taken as the user's.
		e.plan.Approximate(e.system[0].path, "a request needs a message of the user: the system text is sent as one")
		e.speak(false, e.system)
		e.system = nil
	}
	if len(e.turns) == 0 {
		return &sdk.Invalid{Path: "messages", Message: "want a message that says something"}
	}
	if last := &e.Messages[len(e.Messages)-1]; e.turns[len(e.turns)-1].model && last.Role != sdk.Assistant {
		// Left out, it would let the model go on with its own last words.
		return &sdk.Invalid{Path: last.Path, Message: "the last message is empty"}
	}
	e.begin()
	return nil
}

// begin puts a turn of the user in front of a conversation that begins with a call, as one does whose beginning the client
// has cut off: a call must follow a turn of the user (https://github.com/google-gemini/gemini-cli/issues/11814).
func (e *encoding) begin() {
	first := &e.turns[0]
	if i := slices.IndexFunc(first.parts, func(b block) bool { return b.Kind == sdk.PartCall }); first.model && i >= 0 {
		e.plan.Approximate(first.parts[i].path, "a call must follow a turn of the user: a full stop is sent before it")
		e.turns = slices.Insert(e.turns, 0, turn{parts: []block{{Part: &sdk.Part{Kind: sdk.PartText, Text: sdk.T(".")}}}})
	}
}

// spoken gives the parts of a message that say something and that the API can be told.
func (e *encoding) spoken(m *sdk.Message) []block {
	var said []block
	for i := range m.Parts {
		b := block{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		switch b.Kind {
		case sdk.PartText, sdk.PartRefusal:
			if b.Text.Empty() {
				continue
			}
		case sdk.PartThinking, sdk.PartRedacted:
			// What counts of a model's own thoughts is in the signatures of its calls.
			e.plan.Drop(b.path, "reasoning of an earlier turn")
			continue
		case sdk.PartForeign: // left out before turns are made: one without parts is refused
			e.plan.LeavePart(b.Part, b.path, "the API has no such part here")
			continue
		}
		said = append(said, b)
	}
	return said
}

// speak adds to the turn under way where the same side goes on, and begins a new one otherwise.
func (e *encoding) speak(model bool, said []block) {
	if len(said) == 0 {
		return
	}
	if n := len(e.turns); n == 0 || e.turns[n-1].model != model {
		e.turns = append(e.turns, turn{model: model})
	}
	t := &e.turns[len(e.turns)-1]
	t.parts = append(t.parts, said...)
}

func (e *encoding) writeContents() error {
	if len(e.system) > 0 {
		e.w.Name("systemInstruction").Object()
		e.w.Name("parts").Array()
		for _, b := range e.system {
			if b.Kind != sdk.PartText {
				e.plan.Lose(b.path, "system text holds text only")
				continue
			}
			e.text(b.Text)
		}
		e.w.EndArray()
		e.w.EndObject()
	}
	e.w.Name("contents").Array()
	var calls []openCall // of the last turn of the model
	for _, t := range e.turns {
		var err error
		e.w.Object()
		if t.model {
			e.w.Name("role").String("model")
			e.w.Name("parts").Array()
			calls, err = e.modelParts(t.parts)
		} else {
			e.w.Name("role").String("user")
			e.w.Name("parts").Array()
			err = e.userParts(t.parts, calls)
		}
		if err != nil {
			return err
		}
		e.w.EndArray()
		e.w.EndObject()
	}
	e.w.EndArray()
	return nil
}

// userParts writes a turn of the user: results first, in the order of their calls, since the API pairs them so
// (https://ai.google.dev/gemini-api/docs/function-calling), then the media that results hold, then the rest.
func (e *encoding) userParts(parts []block, calls []openCall) error {
	var results []answered
	var rest []block
	for _, b := range parts {
		if b.Kind != sdk.PartResult {
			rest = append(rest, b)
			continue
		}
		a, err := e.pair(b, calls)
		if err != nil {
			return err
		}
		results = append(results, a)
	}
	inCallOrder(results)
	var media []block
	for _, a := range results {
		m, err := e.result(a)
		if err != nil {
			return err
		}
		media = append(media, m...)
	}
	for _, b := range append(media, rest...) {
		switch b.Kind {
		case sdk.PartText, sdk.PartRefusal:
			e.text(b.Text)
		case sdk.PartImage, sdk.PartAudio, sdk.PartDocument, sdk.PartVideo:
			if err := e.media(b); err != nil {
				return err
			}
		default:
			e.plan.Lose(b.path, "the API has no such part here")
		}
	}
	return nil
}

func (e *encoding) text(t sdk.Text) {
	e.w.Object()
	e.w.Name("text").Text(t)
	e.w.EndObject()
}
