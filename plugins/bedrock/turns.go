package bedrock

import (
	"bytes"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// block is a part of a turn and where the client has it.
type block struct {
	*sdk.Part
	path string
}

// turn is what one side says until the other speaks; of a turn of the user, results come first.
type turn struct {
	assistant bool
	results   []block
	rest      []block
}

// last gives the block that is written last.
func (t *turn) last() block {
	if n := len(t.rest); n > 0 {
		return t.rest[n-1]
	}
	return t.results[len(t.results)-1]
}

// arrange sorts the client's messages into system text and turns. System messages at the beginning become the system
// text; a later one stays in its place, as text of the user, so that the beginning of the prompt does not change.
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
	if last := &e.Messages[len(e.Messages)-1]; e.turns[len(e.turns)-1].assistant && last.Role != sdk.Assistant {
		// Left out, it would let the model go on with its own last words.
		return &sdk.Invalid{Path: last.Path, Message: "the last message is empty"}
	}
	e.begin()
	return nil
}

// begin puts a turn of the user in front of a conversation that the assistant opens, such as with a greeting: the first
// message must be the user's (https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html), and a
// text must not be blank.
func (e *encoding) begin() {
	if first := &e.turns[0]; first.assistant && len(first.rest) > 0 {
		e.plan.Approximate(first.rest[0].path, "the first message must be the user's: a full stop is sent before it")
		e.turns = slices.Insert(e.turns, 0, turn{rest: []block{{Part: &sdk.Part{Kind: sdk.PartText, Text: sdk.T(".")}}}})
	}
}

// spoken gives the parts of a message that say something: a blank text is refused by the service.
func (e *encoding) spoken(m *sdk.Message) []block {
	var said []block
	for i := range m.Parts {
		b := block{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		switch b.Kind {
		case sdk.PartText, sdk.PartRefusal:
			if blank(b.Text) {
				continue
			}
		case sdk.PartThinking:
			if !e.claude() || b.Signature.Empty() {
				e.plan.Drop(b.path, "reasoning that the model has not signed")
				continue
			}
		case sdk.PartRedacted:
			if !e.claude() || b.Type != "" && !strings.HasPrefix(b.Type, "anthropic") {
				e.plan.Drop(b.path, "another provider's sealed reasoning")
				continue
			}
		}
		if !speakable(b.Kind, m.Role) {
			e.plan.LeavePart(b.Part, b.path, "Converse has no such part here")
			continue
		}
		said = append(said, b)
	}
	return said
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
func (e *encoding) speak(assistant bool, said []block) {
	if len(said) == 0 {
		return
	}
	if n := len(e.turns); n == 0 || e.turns[n-1].assistant != assistant {
		e.turns = append(e.turns, turn{assistant: assistant})
	}
	t := &e.turns[len(e.turns)-1]
	for _, b := range said {
		if b.Kind == sdk.PartResult {
			t.results = append(t.results, b)
		} else {
			t.rest = append(t.rest, b)
		}
	}
}

func (e *encoding) writeMessages() error {
	if len(e.system) > 0 {
		e.w.Name("system").Array()
		for _, b := range e.system {
			if b.Kind != sdk.PartText {
				e.plan.Lose(b.path, "system text holds text only")
				continue
			}
			e.text(b.Text)
			e.mark(&b.Part.Cache)
		}
		e.w.EndArray()
	}
	e.w.Name("messages").Array()
	for i := range e.turns {
		t := &e.turns[i]
		e.w.Object()
		role := "user"
		if t.assistant {
			role, e.open = "assistant", nil
		}
		if t.assistant && e.claude() && i == len(e.turns)-1 {
			t.trimEnd()
		}
		e.w.Name("role").String(role)
		e.w.Name("content").Array()
		for _, b := range append(t.results[:len(t.results):len(t.results)], t.rest...) {
			if err := e.block(b, t.assistant); err != nil {
				return err
			}
			if _, extra := e.extra[&b.Part.Cache]; !extra {
				e.mark(markOf(b.Part))
			}
		}
		e.besideDocuments(t)
		if last := t.last(); i == len(e.turns)-1 && !markOf(last.Part).Present() {
			e.mark(&e.Cache) // on the request as a whole it means its end
		}
		e.w.EndArray()
		e.w.EndObject()
	}
	e.w.EndArray()
	return nil
}

// trimEnd cuts white space off the end of the last assistant text, which Claude is to go on with and refuses otherwise
// (https://github.com/langchain-ai/langchain-aws/issues/599).
func (t *turn) trimEnd() {
	if n := len(t.rest); n > 0 && t.rest[n-1].Kind == sdk.PartText {
		p := *t.rest[n-1].Part
		p.Text = p.Text.TrimEnd()
		t.rest[n-1].Part = &p
	}
}

// besideDocuments writes a full stop behind documents that stand alone: they want a text beside them
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html).
func (e *encoding) besideDocuments(t *turn) {
	document := ""
	for _, b := range t.rest {
		switch b.Kind {
		case sdk.PartText, sdk.PartRefusal:
			return
		case sdk.PartDocument:
			document = b.path
		}
	}
	if document != "" {
		e.plan.Approximate(document, "a document wants a text beside it: a full stop is sent")
		e.text(sdk.T("."))
	}
}

// markOf gives a part's cache mark; that of a result may stand on what it holds.
func markOf(p *sdk.Part) *sdk.Value {
	if p.Result != nil && !p.Cache.Present() {
		for i := range p.Result.Parts {
			if c := &p.Result.Parts[i].Cache; c.Present() {
				return c
			}
		}
	}
	return &p.Cache
}

// mark writes a mark for caching behind what it is to keep.
func (e *encoding) mark(cache *sdk.Value) {
	if _, extra := e.extra[cache]; extra || !cache.Present() || !e.caches() {
		return
	}
	var d sdk.Doc
	ttl := ""
	if !cache.Held() && d.Parse(cache.Raw()) == nil {
		ttl = d.Root().Get("ttl").Str()
	}
	e.w.Object()
	e.w.Name("cachePoint").Object()
	e.w.Name("type").String("default")
	if ttl == "1h" && e.claude() {
		e.w.Name("ttl").String(ttl)
	}
	e.w.EndObject()
	e.w.EndObject()
}

func (e *encoding) text(t sdk.Text) {
	e.w.Object()
	e.w.Name("text").Text(t)
	e.w.EndObject()
}

// blank says whether a text is empty or white space. Of a held one only the ends are seen, and no text so long is taken
// to be blank.
func blank(t sdk.Text) bool {
	if t.Held() {
		return false
	}
	s, _ := t.Decoded()
	return len(bytes.TrimSpace([]byte(s))) == 0
}
