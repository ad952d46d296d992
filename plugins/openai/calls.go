package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// The longest ids of calls that the service takes. Chat completions have answered 400 with "Expected a string with maximum
// length 40" (https://github.com/microsoft/autogen/issues/6377); call_id of an item of responses:
// https://platform.openai.com/docs/api-reference/responses/create, input.
const (
	maxChatID      = 40
	maxResponsesID = 64
)

// openCall is a call that waits for its result. Its key is the id that the client knows it by.
type openCall struct {
	key, id, name string
	custom        bool
}

func itoa(i int) string { return strconv.Itoa(i) }

func (e *encoding) calls(parts []piece) error {
	if len(parts) == 0 {
		return nil
	}
	e.w.Name("tool_calls").Array()
	for _, p := range parts {
		if err := e.call(p); err != nil {
			return err
		}
	}
	e.w.EndArray()
	return nil
}

// opened gives a call the id and the name that it goes by upstream, and has it wait for its result.
func (e *encoding) opened(p piece) (openCall, error) {
	if p.Call == nil {
		return openCall{}, &sdk.Invalid{Path: p.path, Message: "want a tool call"}
	}
	name, err := e.toolName(p.Call.Name, p.path+".name")
	if err != nil {
		return openCall{}, err
	}
	key := e.callID(p.Call.ID)
	if key == "" {
		e.made++
		key = "call_" + itoa(e.made)
		if e.shortIDs {
			key = nineLetters(sdk.T(key))
		}
	}
	o := openCall{key, e.unused(key), name, p.Call.Custom && !e.compatible}
	e.open = append(e.open, o)
	return o, nil
}

// unused gives the id that a call goes by upstream: its own, or another where one of the turn, or in responses of the whole
// input, has that already. Services that number the calls of each answer repeat theirs.
func (e *encoding) unused(key string) string {
	id := key
	for n := 2; e.used[id]; n++ {
		if next := sdk.T(key + "#" + itoa(n)); e.shortIDs {
			id = nineLetters(next)
		} else {
			id = "call_" + fingerprint(next)
		}
	}
	if e.used == nil {
		e.used = make(map[string]bool)
	}
	e.used[id] = true
	return id
}

func (e *encoding) call(p piece) error {
	o, err := e.opened(p)
	if err != nil {
		return err
	}
	c := p.Call
	e.w.Object()
	e.w.Name("id").String(o.id)
	if o.custom {
		e.w.Name("type").String("custom")
		e.w.Name("custom").Object()
		e.w.Name("name").String(o.name)
		e.w.Name("input").Text(c.Input)
		e.w.EndObject()
		e.w.EndObject()
		return nil
	}
	e.w.Name("type").String("function")
	e.w.Name("function").Object()
	e.w.Name("name").String(o.name)
	e.w.Name("arguments").ArgumentsText(c)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// callItem writes a call as an item of responses. The item's own id is left out: it names what the service has stored,
// and nothing is.
func (e *encoding) callItem(p piece) error {
	o, err := e.opened(p)
	if err != nil {
		return err
	}
	e.w.Object()
	if o.custom {
		e.w.Name("type").String("custom_tool_call")
	} else {
		e.w.Name("type").String("function_call")
	}
	e.w.Name("call_id").String(o.id)
	e.w.Name("name").String(o.name)
	if o.custom {
		e.w.Name("input").Text(p.Call.Input)
	} else {
		e.w.Name("arguments").ArgumentsText(p.Call)
	}
	e.w.EndObject()
	return nil
}

// outputItem writes a result as an item of responses, which may hold images and files.
func (e *encoding) outputItem(p piece) error {
	r := p.Result
	if r == nil {
		return &sdk.Invalid{Path: p.path, Message: "want a tool result"}
	}
	if r.Error {
		e.plan.Drop(p.path+".is_error", e.api+" have no mark for the error of a tool")
	}
	o := e.answered(r)
	kind := "function_call_output"
	if o.custom {
		kind = "custom_tool_call_output"
	}
	parts := make([]piece, len(r.Parts))
	var text []sdk.Text
	plain := true
	for i := range r.Parts {
		parts[i] = piece{&r.Parts[i], sdk.PartPath(p.path, r.Parts, i)}
		plain = plain && parts[i].Kind == sdk.PartText
		if i > 0 {
			text = append(text, sdk.RawText([]byte(`\n`)))
		}
		text = append(text, parts[i].Text)
	}
	e.w.Object()
	e.w.Name("type").String(kind)
	e.w.Name("call_id").String(o.id)
	e.w.Name("output")
	if plain {
		e.w.Joined(text...)
	} else if err := e.inputParts(parts); err != nil {
		return err
	}
	e.w.EndObject()
	return nil
}

// result writes a tool message. It holds text only
// (https://platform.openai.com/docs/api-reference/chat/create, tool message), so images and documents wait for the next
// user message, which comes after all results of the turn.
func (e *encoding) result(p piece) error {
	r := p.Result
	if r == nil {
		return &sdk.Invalid{Path: p.path, Message: "want a tool result"}
	}
	var text []sdk.Text
	add := func(t sdk.Text) {
		if len(text) > 0 {
			text = append(text, sdk.RawText([]byte(`\n`)))
		}
		text = append(text, t)
	}
	moved := false
	for i := range r.Parts {
		part := piece{&r.Parts[i], sdk.PartPath(p.path, r.Parts, i)}
		switch {
		case part.Kind == sdk.PartText:
			add(part.Text)
		case part.Kind == sdk.PartDocument && part.Media != nil && part.Media.Body.Present():
			e.plan.DropAbout(part.path, part.Media, false)
			e.plan.Approximate(part.path, "the document is sent as text")
			add(part.Media.Body)
		case part.Kind == sdk.PartImage, part.Kind == sdk.PartDocument, part.Kind == sdk.PartAudio, part.Kind == sdk.PartVideo:
			e.plan.Approximate(part.path, "a tool message holds text only: sent with the next message of the user")
			e.moved = append(e.moved, part)
			moved = true
		default:
			e.plan.Lose(part.path, "a tool message has no part of type "+partType(part.Part))
		}
	}
	if moved && len(text) == 0 {
		add(sdk.T("The result follows in the next message."))
	}
	if r.Error {
		e.plan.Drop(p.path+".is_error", e.api+" have no mark for the error of a tool")
	}
	e.w.Object()
	e.w.Name("role").String("tool")
	e.w.Name("tool_call_id").String(e.answered(r).id)
	e.w.Name("content").Joined(text...)
	e.w.EndObject()
	return nil
}

// answered gives the call that a result answers. A result without an id answers the first open call of its
// tool, as Gemini has it.
func (e *encoding) answered(r *sdk.Result) openCall {
	id := e.callID(r.ID)
	name := decoded(r.Name)
	if short, ok := e.names[name]; ok {
		name = short
	}
	for i, c := range e.open {
		if id == c.key || id == "" && (name == "" || name == c.name) {
			e.open = append(e.open[:i:i], e.open[i+1:]...)
			return c
		}
	}
	if id == "" {
		id = "call_unknown"
	}
	return openCall{id: id}
}

// callID gives a call's id as the service takes it, the same on the call and on its result; "" where there is none.
func (e *encoding) callID(t sdk.Text) string {
	if t.Empty() {
		return ""
	}
	id, ok := t.Decoded()
	if e.shortIDs {
		if ok && len(id) == 9 && legal(id) && !hasAny(id, '_', '-') {
			return id
		}
		return nineLetters(t)
	}
	if ok && len(id) <= e.maxID {
		return id
	}
	return "call_" + fingerprint(t)
}

func hasAny(s string, a, b byte) bool {
	for i := range len(s) {
		if s[i] == a || s[i] == b {
			return true
		}
	}
	return false
}

// nineLetters makes an id as Mistral demands it: nine letters and digits.
func nineLetters(t sdk.Text) string {
	sum := digest(t)
	s := new(big.Int).SetBytes(sum[:8]).Text(62)
	return ("000000000" + s)[len(s):]
}

// fingerprint is a short hash of a text, in 32 hexadecimal digits.
func fingerprint(t sdk.Text) string {
	sum := digest(t)
	return hex.EncodeToString(sum[:16])
}

// digest hashes a text; of a held one, what is known of it.
func digest(t sdk.Text) [sha256.Size]byte {
	if !t.Held() {
		return sha256.Sum256(t.Raw())
	}
	f := t.Facts()
	known := append(append([]byte{}, f.Head...), f.Tail...)
	return sha256.Sum256(append(known, itoa(f.Len)...))
}

// programs says whether an output is nothing but calls that a program made which the model wrote earlier. Such a response
// comes from the program's run: no model had a part in it
// (https://platform.openai.com/docs/guides/tools-programmatic-tool-calling).
func programs(output sdk.Node) bool {
	all := 0
	for item := range output.Items() {
		if !item.At("caller", "type").Is("program") {
			return false
		}
		all++
	}
	return all > 0
}
