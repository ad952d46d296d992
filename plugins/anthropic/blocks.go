package anthropic

import (
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// openCall is a call that waits for its result. Its key is the id that the client knows it by.
type openCall struct{ key, id, name string }

// writeSystem writes the system text, as blocks: each keeps its cache mark.
func (e *encoding) writeSystem() {
	if len(e.system) == 0 {
		return
	}
	e.w.Name("system").Array()
	for _, b := range e.system {
		if b.Kind != sdk.PartText {
			e.plan.Lose(b.path, "system text holds text only")
			continue
		}
		e.text(b)
	}
	e.w.EndArray()
}

func (e *encoding) writeTurns() error {
	e.w.Name("messages").Array()
	for i := range e.turns {
		t := &e.turns[i]
		role := "user"
		if t.assistant {
			role = "assistant"
			e.open = nil
			if i == len(e.turns)-1 {
				trimPrefill(t)
			}
		}
		e.w.Object()
		e.w.Name("role").String(role)
		e.w.Name("content").Array()
		for _, b := range t.blocks() {
			if err := e.block(b, t.assistant); err != nil {
				return err
			}
		}
		e.w.EndArray()
		e.w.EndObject()
	}
	e.w.EndArray()
	return nil
}

// trimPrefill cuts white space off the end of the last assistant text, which the model is to go on with.
func trimPrefill(t *turn) {
	if len(t.rest) == 0 {
		return
	}
	last := &t.rest[len(t.rest)-1]
	if last.Kind != sdk.PartText {
		return
	}
	p := *last.Part
	p.Text = p.Text.TrimEnd()
	last.Part = &p
}

func (e *encoding) block(b block, assistant bool) error {
	switch {
	case b.Kind == sdk.PartText, b.Kind == sdk.PartRefusal:
		e.text(b)
		return nil
	case b.Kind == sdk.PartResult && !assistant:
		return e.result(b)
	case b.Kind == sdk.PartCall && assistant:
		return e.call(b)
	case b.Kind == sdk.PartThinking && assistant:
		e.thought(b)
		return nil
	case b.Kind == sdk.PartRedacted && assistant:
		e.w.Object()
		e.w.Name("type").String("redacted_thinking")
		e.w.Name("data").Text(b.Text)
		e.w.EndObject()
		return nil
	case b.Kind == sdk.PartAudio:
		return &sdk.Inexpressible{What: "audio input", Path: b.path}
	case b.Kind == sdk.PartVideo:
		return &sdk.Inexpressible{What: "video input", Path: b.path}
	case (b.Kind == sdk.PartImage || b.Kind == sdk.PartDocument) && !assistant:
		return e.media(b)
	}
	e.plan.Lose(b.path, "the Messages API has no such part here")
	return nil
}

func (e *encoding) text(b block) {
	e.w.Object()
	e.w.Name("type").String("text")
	e.w.Name("text").Text(b.Text)
	e.mark(&b.Part.Cache)
	e.w.EndObject()
}

// mark writes the cache mark of a part or a tool, unless it is one too many.
func (e *encoding) mark(cache *sdk.Value) {
	if _, extra := e.extra[cache]; !extra {
		e.w.ValueMember("cache_control", *cache)
	}
}

func (e *encoding) thought(b block) {
	e.w.Object()
	e.w.Name("type").String("thinking")
	e.w.Name("thinking").Text(b.Text)
	e.w.Name("signature").Text(b.Signature)
	e.w.EndObject()
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
	key := callID(c.ID)
	id := e.unused(key)
	if key == "" {
		key = id
	}
	e.open = append(e.open, openCall{key, id, name})
	e.w.Object()
	e.w.Name("type").String("tool_use")
	e.w.Name("id").String(id)
	e.w.Name("name").String(name)
	e.w.Name("input").Arguments(c)
	e.mark(&b.Part.Cache)
	e.w.EndObject()
	return nil
}

// unused gives the id that a call goes by upstream: the client's, or one that is made where it has none or has used it
// before. Ids must be unique over the whole conversation, and services that number the calls of each answer repeat theirs
// (https://github.com/ducks/claux/issues/40).
func (e *encoding) unused(key string) string {
	id := key
	for n := 2; id == "" || e.used[id]; n++ {
		if key == "" {
			e.made++
			id = "call_" + strconv.Itoa(e.made)
		} else {
			id = rewrite([]byte(key+"#"+strconv.Itoa(n)), maxID)
		}
	}
	if e.used == nil {
		e.used = make(map[string]bool)
	}
	e.used[id] = true
	return id
}

func (e *encoding) result(b block) error {
	r := b.Result
	if r == nil {
		return &sdk.Invalid{Path: b.path, Message: "want a tool result"}
	}
	cache := &b.Part.Cache
	_, extra := e.extra[cache]
	var said []block
	for i := range r.Parts {
		p := block{&r.Parts[i], sdk.PartPath(b.path, r.Parts, i)}
		if p.Cache.Present() && !cache.Present() {
			cache = &p.Part.Cache
		}
		if p.Kind != sdk.PartText || !blank(p.Text) {
			said = append(said, p)
		}
	}
	e.w.Object()
	e.w.Name("type").String("tool_result")
	e.w.Name("tool_use_id").String(e.answered(r))
	if len(said) == 1 && said[0].Kind == sdk.PartText {
		e.w.Name("content").Text(said[0].Text)
	} else if len(said) > 0 {
		e.w.Name("content").Array()
		for _, p := range said {
			bare := *p.Part
			bare.Cache = sdk.Value{} // one mark is enough, and it stands on the result
			if err := e.block(block{&bare, p.path}, false); err != nil {
				return err
			}
		}
		e.w.EndArray()
	}
	if r.Error {
		e.w.Name("is_error").Bool(true)
	}
	if !extra {
		e.mark(cache)
	}
	e.w.EndObject()
	return nil
}

// answered gives the id of the call that a result answers. A result without an id answers the first open call of its
// tool, as Gemini has it.
func (e *encoding) answered(r *sdk.Result) string {
	id := callID(r.ID)
	name, _ := r.Name.Decoded()
	if short, ok := e.names[name]; ok {
		name = short
	}
	for i, c := range e.open {
		if id == c.key || id == "" && (name == "" || name == c.name) {
			e.open = append(e.open[:i:i], e.open[i+1:]...)
			return c.id
		}
	}
	if id == "" {
		return "call_unknown"
	}
	return id
}
