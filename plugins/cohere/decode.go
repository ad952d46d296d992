package cohere

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// maxCalls bounds the calls of one answer.
const maxCalls = 4096

// NewDecoder makes the decoder of an answer, whole or streamed.
func (provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder {
	if info.Native == embeddingsDialect {
		return sdk.Whole(vectors)
	}
	return &decoder{stream: info.Stream}
}

type decoder struct {
	stream bool
	over   bool // Done or Failed has been said
	calls  int
	open   map[int64]int // calls that have begun and not ended, by the provider's index
}

// Decode reads one event of a stream, or a whole answer.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		if text := strings.TrimSpace(string(f.Text)); text != "" && text != "[DONE]" {
			d.fail(sdk.UpstreamError, sdk.NotJSON().Message, out)
		}
		return nil
	}
	root := f.Doc.Root()
	if text := root.Get("message").Str(); text != "" || f.Event == "error" {
		d.fail(kindOf(text), text, out)
		return nil
	}
	if !d.stream {
		return d.whole(root, out)
	}
	return d.event(root, out)
}

// End has nothing to add: a complete stream has said its end.
func (d *decoder) End(*sdk.Events) error { return nil }

func (d *decoder) fail(k sdk.Kind, message string, out *sdk.Events) {
	if message == "" {
		message = "the provider answered with an error"
	}
	d.over = true
	out.Add(sdk.Failed).Failure = *sdk.Fail(k, strings.Clone(message))
}

// event reads an event of a stream (https://docs.cohere.com/docs/streaming).
func (d *decoder) event(root sdk.Node, out *sdk.Events) error {
	message := root.At("delta", "message")
	switch kind := root.Get("type"); {
	case kind.Is("content-delta"), kind.Is("content-start"):
		content(message.Get("content"), out)
	case kind.Is("tool-plan-delta"):
		out.Thinking(0, message.Get("tool_plan").Text())
	case kind.Is("tool-call-start"):
		return d.begin(root.Get("index").Int(), message.Get("tool_calls"), out)
	case kind.Is("tool-call-delta"):
		n, ok := d.open[root.Get("index").Int()]
		if !ok {
			return fmt.Errorf("tool call %d: arguments without a beginning", root.Get("index").Int())
		}
		input(n, message.At("tool_calls", "function", "arguments").Text(), out)
	case kind.Is("tool-call-end"):
		d.end(root.Get("index").Int(), out)
	case kind.Is("citation-start"):
		cite(message.Get("citations"), out)
	case kind.Is("message-start"):
		out.Add(sdk.Begin).ID = root.Get("id").Text()
	case kind.Is("message-end"):
		d.finish(root.Get("delta"), out)
	}
	return nil
}

// whole reads an answer that is not streamed.
func (d *decoder) whole(root sdk.Node, out *sdk.Events) error {
	message := root.Get("message")
	if !message.Exists() {
		d.fail(sdk.UpstreamEmpty, "the provider's answer has no message", out)
		return nil
	}
	out.Add(sdk.Begin).ID = root.Get("id").Text()
	out.Thinking(0, message.Get("tool_plan").Text())
	for c := range message.Get("content").Items() {
		content(c, out)
	}
	for c := range message.Get("citations").Items() {
		cite(c, out)
	}
	i := int64(0)
	for c := range message.Get("tool_calls").Items() {
		if err := d.begin(i, c, out); err != nil {
			return err
		}
		d.end(i, out)
		i++
	}
	d.finish(root, out)
	return nil
}

// content reads a block of content, or a piece of one.
func content(c sdk.Node, out *sdk.Events) {
	out.Thinking(0, c.Get("thinking").Text())
	out.Text(0, c.Get("text").Text())
}

func (d *decoder) begin(index int64, call sdk.Node, out *sdk.Events) error {
	if d.calls == maxCalls {
		return fmt.Errorf("tool call %d: want at most %d calls in an answer", index, maxCalls)
	}
	d.end(index, out)
	if d.open == nil {
		d.open = make(map[int64]int)
	}
	d.open[index] = d.calls
	e := out.Add(sdk.ToolBegin)
	e.Call, e.ID, e.Name = d.calls, call.Get("id").Text(), call.At("function", "name").Text()
	input(d.calls, call.At("function", "arguments").Text(), out)
	d.calls++
	return nil
}

func input(call int, t sdk.Text, out *sdk.Events) {
	if !t.Empty() {
		e := out.Add(sdk.ToolInput)
		e.Call, e.Text = call, t
	}
}

func (d *decoder) end(index int64, out *sdk.Events) {
	if n, ok := d.open[index]; ok {
		delete(d.open, index)
		out.Add(sdk.ToolEnd).Call = n
	}
}

// cite tells the first source of a citation that has an address, in the form of a search result's citation.
func cite(c sdk.Node, out *sdk.Events) {
	for s := range c.Get("sources").Items() {
		doc := s.Get("document")
		if doc.Get("url").Str() == "" {
			continue
		}
		var w sdk.Writer
		w.Object()
		w.Name("type").String("web_search_result_location")
		w.Name("url").String(doc.Get("url").Str())
		w.Name("title").String(doc.Get("title").Str())
		w.Name("cited_text").String(c.Get("text").Str())
		w.Name("encrypted_index").String("")
		w.EndObject()
		out.Add(sdk.Citation).Value = sdk.RawValue(w.Bytes())
		return
	}
}

// counted reads usage: the tokens that are billed, which leave out what Cohere adds to the prompt and to the answer, and so do
// not say how much of them was cached (https://docs.cohere.com/v2/docs/how-does-cohere-pricing-work); where they are missing,
// those that the model read and wrote.
func counted(u sdk.Node) sdk.Usage {
	tokens, billed := u.Get("tokens"), u.Get("billed_units")
	c := sdk.Counts{Input: tokens.Get("input_tokens").Int(), CacheRead: u.Get("cached_tokens").Int(), Output: tokens.Get("output_tokens").Int(),
		Reasoning: tokens.Get("reasoning_tokens").Int()}
	if billed.Get("input_tokens").Exists() {
		c.Input, c.CacheRead, c.Output = billed.Get("input_tokens").Int(), 0, billed.Get("output_tokens").Int()
		c.ImageInput, c.Reasoning = tokens.Get("image_tokens").Int(), min(c.Reasoning, c.Output)
	}
	return sdk.UsageWithin(c)
}

// finish reads figures and why the answer ended.
func (d *decoder) finish(n sdk.Node, out *sdk.Events) {
	for _, index := range slices.Sorted(maps.Keys(d.open)) {
		d.end(index, out)
	}
	if u := n.Get("usage"); u.Len() > 0 {
		out.Add(sdk.UsageSeen).Usage = counted(u)
	}
	native := n.Get("finish_reason")
	reason := sdk.ReasonStop
	switch native.Str() {
	case "STOP_SEQUENCE":
		reason = sdk.ReasonStopText
	case "MAX_TOKENS":
		reason = sdk.ReasonLength
	case "TOOL_CALL":
		reason = sdk.ReasonTool
	case "ERROR_TOXIC":
		reason = sdk.ReasonFilter
	case "ERROR":
		d.fail(kindOf(n.Get("error").Str()), n.Get("error").Str(), out)
		return
	case "TIMEOUT":
		d.fail(sdk.Timeout, "the provider ran out of time", out)
		return
	}
	e := out.Add(sdk.Finish)
	e.Reason, e.Native = reason, native.Text()
	d.over = true
	out.Add(sdk.Done)
}
