package openai

import (
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// said reads what an item says. In streams too some services have a message: in place of deltas, or beside them
// (Perplexity) or behind them (MiniMax) with all that they have said.
func (c *choice) said(item sdk.Node, stream bool, out *sdk.Events) error {
	delta := item.Get("delta")
	switch {
	case stream && !delta.Null():
		before := len(out.List)
		err := c.message(delta, false, out)
		c.deltas = c.deltas || len(out.List) > before || len(c.calls) > 0 // a call that waits for its input
		return err
	case c.deltas:
		return nil
	}
	return c.message(item.Get("message"), true, out)
}

// message reads a delta, or a whole message.
func (c *choice) message(m sdk.Node, whole bool, out *sdk.Events) error {
	c.reasoning(m, out)
	c.content(m.Get("content"), out)
	if t := m.Get("refusal").Text(); !t.Empty() {
		c.refusal(t, out)
	}
	for item := range m.Get("tool_calls").Items() {
		if err := c.call(item, whole, out); err != nil {
			return err
		}
	}
	c.oldCall(m.Get("function_call"), out)
	for item := range m.Get("images").Items() {
		c.image(item.At("image_url", "url").Text(), out)
	}
	for item := range m.Get("annotations").Items() {
		e := out.Add(sdk.Citation)
		e.Choice, e.Value = c.index, item.Value()
	}
	if v := m.Get("audio").Value(); v.Present() {
		e := out.Add(sdk.Foreign)
		e.Choice, e.Type, e.Value = c.index, "audio", v
	}
	return nil
}

// image reads a picture that the model has made, as OpenRouter has it
// (https://openrouter.ai/docs/guides/overview/multimodal/image-generation). One at an address is the client's to fetch, and no
// other dialect has a place for it.
func (c *choice) image(url sdk.Text, out *sdk.Events) {
	mime, _, found := strings.Cut(string(url.Facts().Head), ";base64,")
	if !found || !url.HasPrefix("data:") {
		return
	}
	e := out.Add(sdk.Image)
	e.Choice, e.Text = c.index, url.Slice(len(mime)+len(";base64,"), url.Len())
	e.Type = strings.ReplaceAll(strings.TrimPrefix(mime, "data:"), `\/`, "/")
}

func (c *choice) refusal(t sdk.Text, out *sdk.Events) {
	c.refused = true
	e := out.Add(sdk.RefusalDelta)
	e.Choice, e.Text = c.index, t
}

// content reads content as a string or, of Mistral, as a list of parts.
func (c *choice) content(n sdk.Node, out *sdk.Events) {
	out.Text(c.index, n.Text())
	for item := range n.Items() {
		switch kind := item.Get("type").Str(); kind {
		case "text", "output_text":
			out.Text(c.index, item.Get("text").Text())
		case "thinking":
			c.thinking(item.Get("thinking"), out)
		case "refusal":
			if t := item.Get("refusal").Text(); !t.Empty() {
				c.refusal(t, out)
			}
		default:
			e := out.Add(sdk.Foreign)
			e.Choice, e.Type, e.Value = c.index, strings.Clone(kind), item.Value()
		}
	}
}

func (c *choice) thinking(n sdk.Node, out *sdk.Events) {
	out.Thinking(c.index, n.Text())
	for item := range n.Items() {
		out.Thinking(c.index, item.Get("text").Text())
	}
}

// reasoning reads what services other than OpenAI say of the model's reasoning. OpenRouter says the same text twice, in
// reasoning and in reasoning_details; the details add signatures and sealed reasoning, at times in a piece of their own.
func (c *choice) reasoning(m sdk.Node, out *sdk.Events) {
	text := m.Get("reasoning_content").Text()
	if text.Empty() {
		text = m.Get("reasoning").Text()
	}
	out.Thinking(c.index, text)
	c.thought = c.thought || !text.Empty()
	for item := range m.Get("reasoning_details").Items() {
		if !c.thought {
			out.Thinking(c.index, item.Get("text").Text())
			out.Thinking(c.index, item.Get("summary").Text())
		}
		if t := item.Get("signature").Text(); !t.Empty() {
			e := out.Add(sdk.Signature)
			e.Choice, e.Text = c.index, t
		}
		if t := item.Get("data").Text(); !t.Empty() {
			e := out.Add(sdk.Redacted)
			e.Choice, e.Text = c.index, t
		}
	}
}

// call is a tool call in the making.
type call struct {
	index  int64 // -1: the service gave none
	id     string
	name   string
	custom bool
	begun  bool
	input  object // followed where there is no id
}

// object follows the text of a JSON object, which comes in pieces, to its end.
type object struct {
	depth              int
	quoted, slash, end bool
}

func (o *object) read(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case o.slash:
			o.slash = false
		case o.quoted:
			o.slash = c == '\\'
			o.quoted = c != '"'
		case c == '"':
			o.quoted = true
		case c == '{':
			o.depth++
		case c == '}':
			o.depth--
			o.end = o.depth == 0
		}
	}
}

// call reads a piece of a tool call, or a whole one.
func (c *choice) call(item sdk.Node, whole bool, out *sdk.Events) error {
	f, input := item.Get("function"), "arguments"
	custom := item.Get("type").Is("custom") || f.Null() && !item.Get("custom").Null()
	if custom {
		f, input = item.Get("custom"), "input"
	}
	id, name := item.Get("id").Str(), f.Get("name").Str()
	if id == "" && name == "" && f.Get(input).Null() {
		return nil
	}
	index := int64(-1)
	if i := item.Get("index"); !i.Null() {
		index = i.Int()
	}
	n := -1
	if !whole {
		n = c.find(index, id, name)
	}
	if n >= 0 && id == "" && c.calls[n].over(name, f.Get(input)) {
		n = -1
	}
	if n < 0 {
		if len(c.calls) == maxCalls {
			return fmt.Errorf("tool call: want at most %d calls in an answer", maxCalls)
		}
		for i, k := range c.calls { // their names are whole
			k.begin(c, i, out)
		}
		n = len(c.calls)
		c.calls = append(c.calls, &call{index: index, id: strings.Clone(id)})
	}
	k := c.calls[n]
	k.custom = k.custom || custom
	c.piece(n, name, f.Get(input), out)
	return nil
}

// over says whether a piece that has no id, and names a tool, is another call's: a call without an id whose input is
// complete cannot go on.
func (k *call) over(name string, input sdk.Node) bool {
	return k.id == "" && k.input.end && name != "" && (name != k.name || !input.Text().Empty())
}

// find gives the call that a piece belongs to, -1 where it begins a new one. An id that is new makes a new call, whatever
// its index: some services number every call 0. A piece without an id goes on with the last call of its index; without
// an index, with the last call there is, unless it names a tool.
func (c *choice) find(index int64, id, name string) int {
	for i := len(c.calls) - 1; i >= 0; i-- {
		k := c.calls[i]
		placed := index >= 0 && k.index == index
		switch {
		case id == "":
			if placed || index < 0 && name == "" {
				return i
			}
		case k.id == id:
			if placed || index < 0 || k.index < 0 {
				return i
			}
		case k.id == "" && placed: // the id comes after the first piece
			if !k.begun {
				k.id = strings.Clone(id)
			}
			return i
		}
	}
	return -1
}

// piece tells a piece of a call's input. A call is begun when its input begins, or another call, or when the answer ends: until
// then its name may come in pieces too.
func (c *choice) piece(n int, name string, input sdk.Node, out *sdk.Events) {
	k := c.calls[n]
	k.named(name)
	text := input.Text()
	if !input.Null() && !text.Present() {
		text = input.Value().Text() // an object in place of its text
	}
	if !text.Empty() {
		k.begin(c, n, out)
		e := out.Add(sdk.ToolInput)
		e.Choice, e.Call, e.Text = c.index, n, text
		if piece, ok := text.Decoded(); ok && k.id == "" {
			k.input.read(piece)
		}
	}
}

// longestName bounds the name of a tool that comes in pieces.
const longestName = 256

// named takes the name, or a piece of it. Some services send the whole name with every piece of a call (MiniMax at NVIDIA,
// https://github.com/NousResearch/hermes-agent/issues/8259), and some cut it ("edit_ex" and "isting_file" of a Gemini model,
// https://github.com/continuedev/continue/pull/5849).
func (k *call) named(piece string) {
	switch {
	case k.begun || piece == k.name:
	case k.name == "":
		k.name = strings.Clone(piece)
	case len(k.name)+len(piece) <= longestName:
		k.name += piece
	}
}

// begin tells that the call begins, once.
func (k *call) begin(c *choice, n int, out *sdk.Events) {
	if k.begun {
		return
	}
	k.begun = true
	e := out.Add(sdk.ToolBegin)
	e.Choice, e.Call, e.Custom = c.index, n, k.custom
	e.Name = sdk.T(k.name)
	if k.id != "" {
		e.ID = sdk.T(k.id)
	}
}

// oldCall reads function_call, the form before tool calls: one call, without an id. Snowflake sends one that is empty
// where there is none.
func (c *choice) oldCall(f sdk.Node, out *sdk.Events) {
	name, input := f.Get("name").Str(), f.Get("arguments")
	if name == "" && input.Text().Empty() {
		return
	}
	if len(c.calls) == 0 {
		c.calls = append(c.calls, &call{index: -1})
	}
	c.piece(0, name, input, out)
}
