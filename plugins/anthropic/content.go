package anthropic

import (
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// start reads the beginning of a block, or a whole one.
func (d *decoder) start(index int64, b sdk.Node, out *sdk.Events) error {
	if d.seen++; d.seen > maxBlocks {
		return fmt.Errorf("content block %d: want at most %d blocks in an answer", index, maxBlocks)
	}
	open := new(openBlock)
	if d.blocks == nil {
		d.blocks = make(map[int64]*openBlock)
	}
	d.blocks[index] = open
	switch kind := b.Get("type").Str(); kind {
	case "text":
		out.Text(0, b.Get("text").Text())
		for c := range b.Get("citations").Items() {
			out.Add(sdk.Citation).Value = c.Value()
		}
	case "thinking":
		out.Thinking(0, b.Get("thinking").Text())
		signature(b.Get("signature").Text(), out)
	case "redacted_thinking":
		out.Add(sdk.Redacted).Text = b.Get("data").Text()
	case "tool_use":
		open.tool, open.call = true, d.calls
		d.calls++
		e := out.Add(sdk.ToolBegin)
		e.Call, e.ID, e.Name = open.call, b.Get("id").Text(), b.Get("name").Text()
		if input := b.Get("input"); input.Len() > 0 {
			open.given = true
			e := out.Add(sdk.ToolInput)
			e.Call, e.Text = open.call, input.Value().Text()
		}
	default:
		open.begin(kind, b, out)
	}
	return nil
}

func signature(t sdk.Text, out *sdk.Events) {
	if !t.Empty() {
		out.Add(sdk.Signature).Text = t
	}
}

// begin keeps the beginning of a block that only this dialect knows. Results of server tools come whole, at once; a
// block whose content is still to come is given at its end.
func (o *openBlock) begin(kind string, b sdk.Node, out *sdk.Events) {
	v := b.Value()
	input, content := b.Get("input"), b.Get("content")
	switch {
	case v.Held():
	case input.Exists() && input.Len() == 0:
		o.member = "input"
	case kind == "compaction" && content.Exists() && content.Null():
		o.member = "content"
	}
	if o.member == "" {
		foreign(strings.Clone(kind), v, out)
		return
	}
	o.foreign, o.first = strings.Clone(kind), append([]byte(nil), v.Raw()...)
}

func foreign(kind string, v sdk.Value, out *sdk.Events) {
	e := out.Add(sdk.Foreign)
	e.Type, e.Value = kind, v
}

// delta reads a piece of a block.
func (d *decoder) delta(index int64, delta sdk.Node, out *sdk.Events) error {
	open := d.blocks[index]
	switch kind := delta.Get("type"); {
	case kind.Is("text_delta"):
		out.Text(0, delta.Get("text").Text())
	case kind.Is("thinking_delta"):
		out.Thinking(0, delta.Get("thinking").Text())
	case kind.Is("signature_delta"):
		signature(delta.Get("signature").Text(), out)
	case kind.Is("citations_delta"):
		if v := delta.Get("citation").Value(); v.Present() {
			out.Add(sdk.Citation).Value = v
		}
	case kind.Is("input_json_delta"):
		piece := delta.Get("partial_json").Text()
		switch {
		case open == nil || open.given || piece.Empty():
		case open.tool:
			e := out.Add(sdk.ToolInput)
			e.Call, e.Text = open.call, piece
		case open.member == "input":
			return open.collect(piece.JSON())
		}
	case kind.Is("compaction_delta"):
		if open != nil && open.member == "content" {
			return open.collect(delta.Get("content").Value())
		}
	}
	return nil
}

// collect keeps a piece of a foreign block.
func (o *openBlock) collect(piece sdk.Value) error {
	if piece.Held() || len(o.pieces)+piece.Len() > maxHeld {
		return fmt.Errorf("content block %q: want at most %d bytes of %s", o.foreign, maxHeld, o.member)
	}
	o.pieces = append(o.pieces, piece.Raw()...)
	return nil
}

// stop ends a block.
func (d *decoder) stop(index int64, out *sdk.Events) {
	open := d.blocks[index]
	if open == nil {
		return
	}
	delete(d.blocks, index)
	switch {
	case open.tool:
		out.Add(sdk.ToolEnd).Call = open.call
	case open.foreign != "":
		foreign(open.foreign, open.whole(), out)
	}
}

// whole puts a foreign block together: as it began, with what was collected in its place.
func (o *openBlock) whole() sdk.Value {
	var collected, first sdk.Doc
	if len(o.pieces) == 0 || collected.Parse(o.pieces) != nil || first.Parse(o.first) != nil {
		return sdk.RawValue(o.first)
	}
	var w sdk.Writer
	w.Object()
	for name, v := range first.Root().Members() {
		switch {
		case name == o.member:
			w.Name(o.member).Raw(string(o.pieces))
		case !strings.ContainsAny(name, "\"\\") && strings.IndexFunc(name, func(c rune) bool { return c < ' ' }) < 0:
			w.Name(name).Value(v.Value())
		}
	}
	w.EndObject()
	return sdk.RawValue(w.Bytes())
}
