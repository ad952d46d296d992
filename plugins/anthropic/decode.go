package anthropic

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// Bounds of what a decoder remembers of one answer.
const (
	maxBlocks = 4096
	maxHeld   = 1 << 20 // bytes of a foreign block's input
)

// NewDecoder makes the decoder of an answer, whole or streamed.
func (*provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder { return &decoder{} }

type decoder struct {
	began  bool
	over   bool // Done or Failed has been said
	calls  int
	seen   int // blocks
	blocks map[int64]*openBlock
	counts sdk.Counts
	total  bool // the output counted is that of the whole answer, and not of its start
	free   bool // the message holds the calls of a program alone
}

// openBlock is a block of a stream that has begun and not ended.
type openBlock struct {
	tool    bool
	call    int    // of a tool
	given   bool   // a tool's input came with its beginning
	foreign string // type of a block that is given whole at its end
	first   []byte // such a block as it began
	member  string // that is collected, of such a block
	pieces  []byte // JSON text
}

// Decode reads one event of a stream, or a whole message.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		if text := strings.TrimSpace(string(f.Text)); text != "" && text != "[DONE]" {
			d.fail(sdk.NotJSON(), out)
		}
		return nil
	}
	root := f.Doc.Root()
	if failure := failed(root, f.Event); failure != nil {
		d.fail(failure, out)
		return nil
	}
	switch kind := root.Get("type"); {
	case kind.Is("content_block_delta"): // first: nearly all events are
		return d.delta(root.Get("index").Int(), root.Get("delta"), out)
	case kind.Is("message_start"):
		// The start of an answer that goes on in a server tool holds what the model has said already.
		m := root.Get("message")
		d.begin(m, out)
		if err := d.content(m, out); err != nil {
			return err
		}
		d.finish(m, out)
	case kind.Is("content_block_start"):
		return d.start(root.Get("index").Int(), root.Get("content_block"), out)
	case kind.Is("content_block_stop"):
		d.stop(root.Get("index").Int(), out)
	case kind.Is("message_delta"):
		d.total = d.total || root.Get("usage").Len() > 0
		d.usage(root.Get("usage"), out)
		d.finish(root.Get("delta"), out)
	case kind.Is("message_stop"):
		d.over = true
		d.startOnly(out)
		out.Add(sdk.Done)
	case kind.Is("ping"):
		out.Add(sdk.Ping)
	case kind.Is("message"):
		return d.whole(root, out)
	}
	return nil
}

// End has nothing to add: a complete answer has said its end.
func (d *decoder) End(*sdk.Events) error { return nil }

func (d *decoder) fail(f *sdk.Failure, out *sdk.Events) {
	d.over = true
	out.Add(sdk.Failed).Failure = *f
}

func (d *decoder) begin(m sdk.Node, out *sdk.Events) {
	if !d.began {
		d.began = true
		e := out.Add(sdk.Begin)
		e.ID, e.Name = m.Get("id").Text(), m.Get("model").Text()
	}
	d.free, d.total = programs(m), !m.Get("stop_reason").Null()
	d.usage(m.Get("usage"), out)
}

// programs says whether a message is nothing but calls that a program made which the model wrote earlier. It comes from
// the program's run: no model had a part in it, and none is charged
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling, usage and pricing).
func programs(m sdk.Node) bool {
	all := 0
	for b := range m.Get("content").Items() {
		if by := b.At("caller", "type"); by.Null() || by.Is("direct") {
			return false
		}
		all++
	}
	return all > 0
}

// whole reads a message that is not streamed, block by block.
func (d *decoder) whole(m sdk.Node, out *sdk.Events) error {
	if !m.Get("content").Exists() {
		d.fail(sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no content"), out)
		return nil
	}
	d.begin(m, out)
	if err := d.content(m, out); err != nil {
		return err
	}
	d.finish(m, out)
	d.over = true
	out.Add(sdk.Done)
	return nil
}

// content reads the whole blocks of a message.
func (d *decoder) content(m sdk.Node, out *sdk.Events) error {
	i := int64(0)
	for b := range m.Get("content").Items() {
		if err := d.start(i, b, out); err != nil {
			return err
		}
		d.stop(i, out)
		i++
	}
	return nil
}

// finish tells why the answer ended.
func (d *decoder) finish(m sdk.Node, out *sdk.Events) {
	native := m.Get("stop_reason")
	if native.Null() {
		return
	}
	e := out.Add(sdk.Finish)
	e.Native, e.Reason = native.Text(), sdk.ReasonStop
	switch native.Str() {
	case "stop_sequence":
		e.Reason, e.Stop = sdk.ReasonStopText, m.Get("stop_sequence").Text()
	case "max_tokens":
		e.Reason = sdk.ReasonLength
	case "model_context_window_exceeded":
		e.Reason = sdk.ReasonContext
	case "tool_use":
		e.Reason = sdk.ReasonTool
	case "refusal":
		e.Reason = sdk.ReasonRefusal
	case "pause_turn":
		e.Reason = sdk.ReasonPause
	}
}

// usage reads figures and tells what they come to. The message's start has the input, and each later usage holds totals
// so far, of which those that are there replace what was before
// (https://platform.claude.com/docs/en/build-with-claude/streaming).
//
// Where the answer took several passes, iterations lists them, and the totals beside it are of the last one only: the
// passes of the model itself and of compaction are charged together
// (https://platform.claude.com/docs/en/build-with-claude/compaction, usage). Passes of other models, such as an
// advisor's, have another price and are left out.
func (d *decoder) usage(u sdk.Node, out *sdk.Events) {
	if u.Len() == 0 {
		return
	}
	readCounts(&d.counts, u)
	var sum sdk.Counts
	passes := 0
	for pass := range u.Get("iterations").Items() {
		if kind := pass.Get("type"); !kind.Is("message") && !kind.Is("compaction") {
			continue
		}
		var one sdk.Counts
		readCounts(&one, pass)
		passes++
		sum.Input += one.Input
		sum.CacheRead += one.CacheRead
		sum.CacheWrite += one.CacheWrite
		sum.CacheWriteHour += one.CacheWriteHour
		sum.Output += one.Output
		sum.Reasoning += one.Reasoning
	}
	if passes > 1 {
		sum.Reasoning, sum.Searches, sum.Tier = max(sum.Reasoning, d.counts.Reasoning), d.counts.Searches, d.counts.Tier
		d.counts = sum
	}
	total := sdk.UsageBeside(d.counts)
	total.Free = d.free
	out.Add(sdk.UsageSeen).Usage = total
}

// startOnly takes back figures that came with the start of a stream and with nothing later: who gave them has not counted
// the answer.
func (d *decoder) startOnly(out *sdk.Events) {
	if d.total || d.counts == (sdk.Counts{}) {
		return
	}
	u := sdk.UsageBeside(d.counts)
	u.Known = false
	out.Add(sdk.UsageSeen).Usage = u
}

// readCounts takes over the figures that are there. An input of nothing at all is none: some services fill the member in
// at the end, where they no longer know.
func readCounts(c *sdk.Counts, u sdk.Node) {
	before := *c
	for _, f := range []struct {
		to   *int64
		from sdk.Node
	}{
		{&c.Input, u.Get("input_tokens")},
		{&c.CacheRead, u.Get("cache_read_input_tokens")},
		{&c.CacheWrite, u.Get("cache_creation_input_tokens")},
		{&c.CacheWriteHour, u.At("cache_creation", "ephemeral_1h_input_tokens")},
		{&c.Output, u.Get("output_tokens")},
		{&c.Reasoning, u.At("output_tokens_details", "thinking_tokens")},
		{&c.Searches, u.At("server_tool_use", "web_search_requests")},
	} {
		if !f.from.Null() {
			*f.to = f.from.Int()
		}
	}
	c.Tier = max(c.Tier, sdk.TierOf(u.Get("service_tier").Str()), sdk.TierOf(u.Get("speed").Str()))
	if u.Get("input_tokens").Int()+u.Get("cache_read_input_tokens").Int()+u.Get("cache_creation_input_tokens").Int() == 0 {
		c.Input, c.CacheRead, c.CacheWrite = before.Input, before.CacheRead, before.CacheWrite
	}
	parts := u.Get("cache_creation")
	sum := parts.Get("ephemeral_5m_input_tokens").Int() + parts.Get("ephemeral_1h_input_tokens").Int()
	if u.Get("cache_creation_input_tokens").Null() && sum > 0 { // parts without their total
		c.CacheWrite = sum
	}
}
