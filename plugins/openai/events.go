package openai

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// response reads a response, whole or as a stream of events. An event says which item of the output it is about; what an
// item did not say piece by piece is told when it ends, for services that leave out some events.
type response struct {
	stream  bool
	began   bool
	over    bool // Done or Failed has been said
	refused bool
	calls   int // so far: a call's number is not its place in the output, where messages and reasoning stand too
	items   []*output
	thinker *output // the item whose reasoning was told last, while nothing else has been
}

// output is an item of the output in the making.
type output struct {
	index int64 // its place in the output; -1: the service gave none
	id    string
	call  int    // number of the call; -1: none has begun
	names string // the call's id, as its result will name it
	told  bool   // it has said something piece by piece
	cited bool   // its annotations have been told
	shown string // the member that its reasoning is told from: "summary" or "content"
	part  int64  // the part of it that was told last
	done  bool
}

// Decode reads one event of a stream, or a whole body.
func (d *response) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		// Some services append [DONE], which says nothing here: the last event is the end.
		if text := bytes.TrimSpace(f.Text); len(text) > 0 && string(text) != "[DONE]" {
			d.fail(sdk.NotJSON(), out)
		}
		return nil
	}
	root := f.Doc.Root()
	if !d.stream || root.Get("type").Null() {
		return d.whole(root, f.Event, out)
	}
	return d.event(root, out)
}

// End has nothing to add: only an event can say that a response is complete.
func (d *response) End(*sdk.Events) error { return nil }

// whole reads a response object, or an error in its place.
func (d *response) whole(root sdk.Node, event string, out *sdk.Events) error {
	switch failure := failed(root, event); {
	case failure != nil:
		d.fail(failure, out)
		return nil
	case root.Get("output").Exists():
		return d.end(root, out)
	case d.stream:
		return nil
	}
	d.fail(sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no output"), out)
	return nil
}

// fail ends the answer; f is nil where the provider does not say what is wrong.
func (d *response) fail(f *sdk.Failure, out *sdk.Events) {
	d.over = true
	if f == nil {
		f = sdk.Fail(sdk.UpstreamError, "the provider's response failed or was cancelled")
	}
	out.Add(sdk.Failed).Failure = *f
}

// event reads an event of a stream. Events that only repeat or announce are passed over.
func (d *response) event(root sdk.Node, out *sdk.Events) error {
	switch typ := root.Get("type"); {
	case typ.Is("response.created"), typ.Is("response.in_progress"), typ.Is("response.queued"):
		d.begin(root.Get("response"), out)
	case typ.Is("response.output_item.added"), typ.Is("response.output_item.done"):
		return d.item(root, typ.Is("response.output_item.done"), out)
	case typ.Is("response.completed"), typ.Is("response.incomplete"), typ.Is("response.done"): // the last is OpenRouter's
		return d.end(root.Get("response"), out)
	case typ.Is("response.failed"), typ.Is("response.cancelled"):
		r := root.Get("response")
		tellUsage(r, out)
		f := failed(r, "")
		if f == nil {
			f = failed(root, "") // beside the response, where some services have it
		}
		d.fail(f, out)
	case typ.Is("error"), typ.Is("response.error"):
		d.fail(failed(root, "error"), out)
	case typ.Is("keepalive"), typ.Is("ping"):
		out.Add(sdk.Ping)
	default:
		return d.piece(root, typ, out)
	}
	return nil
}

// piece reads an event that adds to an item.
func (d *response) piece(root, typ sdk.Node, out *sdk.Events) error {
	var tell func(*output, sdk.Text, *sdk.Events)
	switch {
	case typ.Is("response.output_text.delta"):
		tell = d.text
	case typ.Is("response.refusal.delta"):
		tell = d.refusal
	case typ.Is("response.function_call_arguments.delta"), typ.Is("response.custom_tool_call_input.delta"):
		tell = d.input
	case typ.Is("response.reasoning_summary_text.delta"):
		return d.thought(root, "summary", root.Get("summary_index").Int(), out)
	case typ.Is("response.reasoning_text.delta"):
		return d.thought(root, "content", root.Get("content_index").Int(), out)
	case typ.Is("response.output_text.annotation.added"):
		o, err := d.output(root, root.Get("item_id"), out)
		if err == nil && !o.done {
			o.cited = true
			cite(root.Get("annotation"), out)
		}
		return err
	default:
		return nil
	}
	o, err := d.output(root, root.Get("item_id"), out)
	if err != nil || o.done {
		return err
	}
	tell(o, root.Get("delta").Text(), out)
	score(root.Get("logprobs"), out)
	return nil
}

func (d *response) text(o *output, t sdk.Text, out *sdk.Events) {
	if t.Empty() {
		return
	}
	o.told, d.thinker = true, nil
	out.Text(0, t)
}

func (d *response) refusal(o *output, t sdk.Text, out *sdk.Events) {
	if t.Empty() {
		return
	}
	o.told, d.refused, d.thinker = true, true, nil
	out.Add(sdk.RefusalDelta).Text = t
}

func (d *response) input(o *output, t sdk.Text, out *sdk.Events) {
	if t.Empty() || o.call < 0 {
		return
	}
	o.told = true
	e := out.Add(sdk.ToolInput)
	e.Call, e.Text = o.call, t
}

// thought tells a piece of reasoning. An item may have the reasoning itself and a summary of it: what comes first counts.
func (d *response) thought(root sdk.Node, member string, part int64, out *sdk.Events) error {
	o, err := d.output(root, root.Get("item_id"), out)
	if err == nil && !o.done {
		d.think(o, member, part, root.Get("delta").Text(), out)
	}
	return err
}

// think tells reasoning. Parts of it, and items, stand apart.
func (d *response) think(o *output, member string, part int64, t sdk.Text, out *sdk.Events) {
	if t.Empty() || o.shown != "" && o.shown != member {
		return
	}
	if d.thinker != nil && (d.thinker != o || part != o.part) {
		out.Thinking(0, sdk.RawText([]byte(break2)))
	}
	o.told, o.shown, o.part, d.thinker = true, member, part, o
	out.Thinking(0, t)
}

// begin tells the answer's id and model, at the first event.
func (d *response) begin(r sdk.Node, out *sdk.Events) {
	if d.began {
		return
	}
	d.began = true
	e := out.Add(sdk.Begin)
	e.ID, e.Name = r.Get("id").Text(), r.Get("model").Text()
}

// output gives the item that an event is about; a new one where it is the first to tell of it.
func (d *response) output(event, id sdk.Node, out *sdk.Events) (*output, error) {
	d.begin(sdk.Node{}, out)
	index := int64(-1)
	if n := event.Get("output_index"); !n.Null() {
		index = n.Int()
	}
	if o := d.find(index, id); o != nil {
		return o, nil
	}
	return d.add(index, id)
}

// find gives an item by its place and id; by its place alone, since some services give an item another id in each event; by
// id where there is no place; and the open one where there is neither.
func (d *response) find(index int64, id sdk.Node) *output {
	for i := len(d.items) - 1; i >= 0; i-- {
		if o := d.items[i]; o.index == index && o.id != "" && id.Is(o.id) {
			return o
		}
	}
	for i := len(d.items) - 1; i >= 0; i-- {
		o := d.items[i]
		if index >= 0 && o.index == index || (index < 0 || o.index < 0) && id.Is(o.id) || index < 0 && id.Null() && !o.done {
			return o
		}
	}
	return nil
}

func (d *response) add(index int64, id sdk.Node) (*output, error) {
	if len(d.items) == maxItems {
		return nil, fmt.Errorf("output: want at most %d items in a response", maxItems)
	}
	o := &output{index: index, id: strings.Clone(id.Str()), call: -1}
	d.items = append(d.items, o)
	return o, nil
}

// item reads the event that begins or ends an item.
func (d *response) item(root sdk.Node, done bool, out *sdk.Events) error {
	item := root.Get("item")
	o, err := d.output(root, item.Get("id"), out)
	if err == nil && !done && o.other(item) {
		o, err = d.add(o.index, item.Get("id"))
	}
	switch {
	case err != nil:
		return err
	case done:
		d.finish(o, item, out)
	case !item.Get("name").Text().Empty(): // otherwise it is told when it ends
		d.call(o, item, out)
	}
	return nil
}

// other says whether an item that begins is another than that which was found at its place: some services give all their
// items one place.
func (o *output) other(item sdk.Node) bool {
	if id := item.Get("call_id").Str(); id != "" && o.names != "" {
		return id != o.names
	}
	return o.done && !item.Get("id").Is(o.id)
}

// call tells that a call begins, once. Its id is call_id; the item's own is another.
func (d *response) call(o *output, item sdk.Node, out *sdk.Events) {
	custom := item.Get("type").Is("custom_tool_call")
	if o.call >= 0 || !custom && !item.Get("type").Is("function_call") {
		return
	}
	o.call, d.thinker = d.calls, nil
	d.calls++
	e := out.Add(sdk.ToolBegin)
	e.Call, e.ID, e.Name, e.Custom = o.call, item.Get("call_id").Text(), item.Get("name").Text(), custom
	if e.ID.Empty() {
		e.ID = item.Get("id").Text()
	}
	o.names = strings.Clone(item.Get("call_id").Str())
}

// finish tells what an item that has ended had not told.
func (d *response) finish(o *output, item sdk.Node, out *sdk.Events) {
	if o.done {
		return
	}
	o.done = true
	switch typ := item.Get("type"); {
	case typ.Is("message"):
		d.message(o, item, out)
	case typ.Is("reasoning"):
		d.reasoning(o, item, out)
	case typ.Is("function_call"), typ.Is("custom_tool_call"):
		d.call(o, item, out)
		if !o.told {
			d.input(o, item.Get("arguments").Text(), out)
			d.input(o, item.Get("input").Text(), out)
		}
		o.close(out)
	case typ.Null():
	case typ.Is("image_generation_call") && !item.Get("result").Text().Empty():
		e := out.Add(sdk.Image)
		e.Type, e.Text = "image/png", item.Get("result").Text()
		if format := item.Get("output_format").Str(); format != "" {
			e.Type = "image/" + format
		}
	default: // a tool that the service runs
		e := out.Add(sdk.Foreign)
		e.Type, e.Value = strings.Clone(typ.Str()), item.Value()
	}
}

func (o *output) close(out *sdk.Events) {
	o.done = true
	if o.call >= 0 {
		out.Add(sdk.ToolEnd).Call = o.call
	}
}

func (d *response) message(o *output, item sdk.Node, out *sdk.Events) {
	told := o.told
	for part := range item.Get("content").Items() {
		if !told {
			d.text(o, part.Get("text").Text(), out)
			d.refusal(o, part.Get("refusal").Text(), out)
			score(part.Get("logprobs"), out)
		}
		if !o.cited {
			for note := range part.Get("annotations").Items() {
				cite(note, out)
			}
		}
	}
}

// reasoning tells the reasoning, and its sealed form, which only comes with the end.
func (d *response) reasoning(o *output, item sdk.Node, out *sdk.Events) {
	if !o.told {
		for _, member := range []string{"summary", "content"} {
			part := int64(0)
			for p := range item.Get(member).Items() {
				d.think(o, member, part, p.Get("text").Text(), out)
				part++
			}
		}
	}
	if t := item.Get("encrypted_content").Text(); !t.Empty() {
		d.thinker = nil
		out.Add(sdk.Redacted).Text = t
	}
}

// end reads the response as it stands at its end: what its output has that no event told, usage, and why it ended.
func (d *response) end(r sdk.Node, out *sdk.Events) error {
	d.begin(r, out)
	if err := d.rest(r.Get("output"), out); err != nil {
		return err
	}
	tellUsage(r, out)
	if status := r.Get("status"); status.Is("failed") || status.Is("cancelled") {
		d.fail(failed(r, ""), out)
		return nil
	}
	e := out.Add(sdk.Finish)
	e.Reason, e.Native = d.why(r)
	d.over = true
	out.Add(sdk.Done)
	return nil
}

// rest tells the items that no event has ended.
func (d *response) rest(list sdk.Node, out *sdk.Events) error {
	placed := !slices.ContainsFunc(d.items, func(o *output) bool { return o.index < 0 })
	index := int64(-1)
	for item := range list.Items() {
		index++
		found := d.find(index, item.Get("id"))
		if found == nil && !placed {
			continue // it may be one that was told under another id
		}
		if found == nil {
			var err error
			if found, err = d.add(index, item.Get("id")); err != nil {
				return err
			}
		}
		d.finish(found, item, out)
	}
	for _, o := range d.items {
		if !o.done {
			o.close(out)
		}
	}
	return nil
}
