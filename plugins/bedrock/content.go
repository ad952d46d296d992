package bedrock

import (
	"fmt"

	"github.com/penstock-gateway/penstock/sdk"
)

// block reads a block of a whole answer.
func (d *decoder) block(index int64, b sdk.Node, out *sdk.Events) error {
	switch {
	case b.Get("text").Exists():
		out.Text(0, b.Get("text").Text())
	case b.Get("toolUse").Exists():
		call := b.Get("toolUse")
		if err := d.start(index, b, out); err != nil {
			return err
		}
		n := d.open[index]
		delete(d.open, index)
		if n < 0 {
			return nil
		}
		if input := call.Get("input"); input.Len() > 0 {
			e := out.Add(sdk.ToolInput)
			e.Call, e.Text = n, input.Value().Text()
		}
		out.Add(sdk.ToolEnd).Call = n
	case b.Get("reasoningContent").Exists():
		reasoning := b.Get("reasoningContent")
		d.reasoning(reasoning.Get("reasoningText"), out)
		d.reasoning(reasoning, out)
	case b.Get("citationsContent").Exists():
		cited := b.Get("citationsContent")
		for c := range cited.Get("content").Items() {
			out.Text(0, c.Get("text").Text())
		}
		for c := range cited.Get("citations").Items() {
			cite(c, out)
		}
	}
	return nil
}

// start reads the beginning of a block. Tools that the service runs itself are not told: they are no calls of the
// client's.
func (d *decoder) start(index int64, start sdk.Node, out *sdk.Events) error {
	if d.seen++; d.seen > maxBlocks {
		return fmt.Errorf("content block %d: want at most %d blocks in an answer", index, maxBlocks)
	}
	call := start.Get("toolUse")
	if d.open == nil {
		d.open = make(map[int64]int)
	}
	if !call.Exists() || call.Get("type").Exists() {
		d.open[index] = -1
		return nil
	}
	e := out.Add(sdk.ToolBegin)
	e.Call, e.ID, e.Name = d.calls, call.Get("toolUseId").Text(), call.Get("name").Text()
	d.open[index] = d.calls
	d.calls++
	return nil
}

// delta reads a piece of a block.
func (d *decoder) delta(index int64, delta sdk.Node, out *sdk.Events) error {
	if text := delta.Get("text").Text(); text.Present() {
		out.Text(0, text)
		return nil
	}
	if input := delta.At("toolUse", "input").Text(); !input.Empty() {
		call, ok := d.open[index]
		if !ok {
			return fmt.Errorf("content block %d: input without a beginning", index)
		}
		if call >= 0 {
			e := out.Add(sdk.ToolInput)
			e.Call, e.Text = call, input
		}
		return nil
	}
	d.reasoning(delta.Get("reasoningContent"), out)
	if c := delta.Get("citation"); c.Exists() {
		cite(c, out)
	}
	return nil
}

// reasoning tells thoughts: in the open, signed, or sealed.
func (d *decoder) reasoning(r sdk.Node, out *sdk.Events) {
	out.Thinking(0, r.Get("text").Text())
	if s := r.Get("signature").Text(); !s.Empty() {
		out.Add(sdk.Signature).Text = s
	}
	if sealed := r.Get("redactedContent").Text(); !sealed.Empty() {
		out.Add(sdk.Redacted).Text = sealed
	}
}

// cite tells a citation in the form that Anthropic's citations have
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html). A piece that is too long to be
// seen is left out of it.
func cite(c sdk.Node, out *sdk.Events) {
	location, title, quoted := c.Get("location"), c.Get("title").Str(), ""
	for s := range c.Get("sourceContent").Items() {
		quoted = s.Get("text").Str()
		break
	}
	var w sdk.Writer
	w.Object()
	if web := location.Get("web"); web.Exists() {
		if title == "" {
			title = web.Get("domain").Str()
		}
		w.Name("type").String("web_search_result_location")
		w.Name("url").String(web.Get("url").Str())
		w.Name("title").String(title)
		w.Name("cited_text").String(quoted)
		w.Name("encrypted_index").String("")
		w.EndObject()
		out.Add(sdk.Citation).Value = sdk.RawValue(w.Bytes())
		return
	}
	for _, k := range [...]struct{ member, kind, unit string }{
		{"documentChar", "char_location", "char_index"},
		{"documentPage", "page_location", "page_number"},
		{"documentChunk", "content_block_location", "block_index"},
	} {
		at := location.Get(k.member)
		if !at.Exists() {
			continue
		}
		w.Name("type").String(k.kind)
		w.Name("cited_text").String(quoted)
		w.Name("document_index").Int(at.Get("documentIndex").Int())
		w.Name("document_title").String(title)
		w.Name("start_" + k.unit).Int(at.Get("start").Int())
		w.Name("end_" + k.unit).Int(at.Get("end").Int())
		w.EndObject()
		out.Add(sdk.Citation).Value = sdk.RawValue(w.Bytes())
		return
	}
}
