package bedrock

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// openCall is a call that waits for its result. Its key is the id that the client knows it by.
type openCall struct{ key, id, name string }

func (e *encoding) block(b block, assistant bool) error {
	switch {
	case b.Kind == sdk.PartText, b.Kind == sdk.PartRefusal:
		e.text(b.Text)
		return nil
	case b.Kind == sdk.PartCall && assistant:
		return e.call(b)
	case b.Kind == sdk.PartResult && !assistant:
		return e.result(b)
	case b.Kind == sdk.PartThinking && assistant:
		e.w.Object()
		e.w.Name("reasoningContent").Object()
		e.w.Name("reasoningText").Object()
		e.w.Name("text").Text(b.Text)
		e.w.Name("signature").Text(b.Signature)
		for range 3 {
			e.w.EndObject()
		}
		return nil
	case b.Kind == sdk.PartRedacted && assistant:
		e.w.Object()
		e.w.Name("reasoningContent").Object()
		e.w.Name("redactedContent").Text(b.Text)
		e.w.EndObject()
		e.w.EndObject()
		return nil
	case b.Kind == sdk.PartAudio:
		return &sdk.Inexpressible{What: "audio input", Path: b.path}
	case b.Kind == sdk.PartVideo:
		return &sdk.Inexpressible{What: "video input", Path: b.path}
	case (b.Kind == sdk.PartImage || b.Kind == sdk.PartDocument) && !assistant:
		return e.media(b)
	}
	e.plan.Lose(b.path, "Converse has no such part here")
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
	key := callID(c.ID)
	id := e.unused(key)
	if key == "" {
		key = id
	}
	e.open = append(e.open, openCall{key, id, name})
	e.w.Object()
	e.w.Name("toolUse").Object()
	e.w.Name("toolUseId").String(id)
	e.w.Name("name").String(name)
	e.w.Name("input").Arguments(c)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// unused gives the id that a call goes by upstream: the client's, or one that is made where it has none or has used it
// before. Ids must be unique over the whole conversation, and services that number the calls of each answer repeat theirs.
func (e *encoding) unused(key string) string {
	id := key
	for n := 2; id == "" || e.used[id]; n++ {
		if key == "" {
			e.made++
			id = "call_" + strconv.Itoa(e.made)
		} else {
			id = rewrite(key+"#"+strconv.Itoa(n), maxID)
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
	id := e.answered(r)
	if id == "" {
		return &sdk.Invalid{Path: b.path, Message: "want the result of a call in the turn before it"}
	}
	e.w.Object()
	e.w.Name("toolResult").Object()
	e.w.Name("toolUseId").String(id)
	e.w.Name("content").Array()
	for i := range r.Parts {
		p := block{&r.Parts[i], sdk.PartPath(b.path, r.Parts, i)}
		if p.Kind == sdk.PartText && blank(p.Text) {
			continue
		}
		if err := e.block(p, false); err != nil {
			return err
		}
	}
	e.w.EndArray()
	if r.Error {
		e.w.Name("status").String("error")
	}
	e.w.EndObject()
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
		if id == c.key || id == "" && (name == "" || name == c.name) {
			e.open = append(e.open[:i:i], e.open[i+1:]...)
			return c.id
		}
	}
	return id
}

// Bounds of names and ids, which hold letters, digits, _ and -
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html).
const (
	maxName = 64
	maxID   = 64
)

// toolName gives the name that a tool goes by upstream. A name that the service would refuse is rewritten and made
// unique by a hash, the same for each request, and the gateway gives the client its own back.
func (e *encoding) toolName(t sdk.Text, path string) (string, error) {
	name, ok := t.Decoded()
	if !ok || name == "" {
		return "", &sdk.Invalid{Path: path, Message: "want a name of 1 to 256 characters"}
	}
	if legal(name) && len(name) <= maxName {
		return name, nil
	}
	if short, ok := e.names[name]; ok {
		return short, nil
	}
	short := rewrite(name, maxName)
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = short
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: short})
	return short, nil
}

// callID gives a call's id as the service takes it, the same on the call and on its result and in each request; "" where
// there is none.
func callID(t sdk.Text) string {
	id, ok := t.Decoded()
	if !ok {
		f := t.Facts()
		id = string(f.Head) + string(f.Tail) + strconv.Itoa(f.Len)
	}
	if legal(id) && len(id) <= maxID {
		return id
	}
	return rewrite(id, maxID)
}

func legal(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) {
			return false
		}
	}
	return true
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// rewrite replaces what is not allowed, cuts, and adds ten digits of the hash of the whole.
func rewrite(s string, limit int) string {
	sum := sha256.Sum256([]byte(s))
	head := []byte(s)[:min(len(s), limit-11)]
	for i, c := range head {
		if !letter(c) {
			head[i] = '_'
		}
	}
	return string(head) + "_" + hex.EncodeToString(sum[:5])
}
