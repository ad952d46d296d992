package bedrock

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// maxBlocks bounds the blocks of one answer.
const maxBlocks = 4096

// NewDecoder makes the decoder of an answer, whole or streamed.
func (*provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder {
	if info.Native == embeddingsDialect {
		return sdk.Whole(vectors)
	}
	return &decoder{stream: info.Stream}
}

type decoder struct {
	stream   bool
	began    bool
	finished bool
	over     bool // Done or Failed has been said
	calls    int
	seen     int           // blocks
	open     map[int64]int // the call of a block that has begun and not ended; -1 of one that is not told
}

// Decode reads one event of a stream, or a whole answer.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		d.text(f.Event, strings.TrimSpace(string(f.Text)), out)
		return nil
	}
	root := f.Doc.Root()
	if !d.stream {
		return d.whole(root, out)
	}
	if failure := failed(f.Event, root); failure != nil {
		d.fail(failure, out)
		return nil
	}
	return d.event(f.Event, root, out)
}

// text reads what is no JSON: in a stream, the message of an error.
func (d *decoder) text(event, text string, out *sdk.Events) {
	switch {
	case !d.stream:
		d.fail(sdk.NotJSON(), out)
	case text != "":
		d.fail(&sdk.Failure{Kind: sdk.UpstreamError, Message: text, Type: strings.Clone(event)}, out)
	}
}

func (d *decoder) event(name string, root sdk.Node, out *sdk.Events) error {
	index := root.Get("contentBlockIndex").Int()
	switch name {
	case "contentBlockDelta":
		d.begin(out)
		return d.delta(index, root.Get("delta"), out)
	case "messageStart":
		d.begin(out)
	case "contentBlockStart":
		d.begin(out)
		return d.start(index, root.Get("start"), out)
	case "contentBlockStop":
		if call, ok := d.open[index]; ok {
			delete(d.open, index)
			if call >= 0 {
				out.Add(sdk.ToolEnd).Call = call
			}
		}
	case "messageStop":
		d.finish(root, out)
	case "metadata": // the last event
		usage(root, out)
		return d.End(out)
	}
	return nil
}

// End completes a stream whose message has stopped: figures may be missing after it.
func (d *decoder) End(out *sdk.Events) error {
	if d.finished && !d.over {
		d.over = true
		out.Add(sdk.Done)
	}
	return nil
}

func (d *decoder) fail(f *sdk.Failure, out *sdk.Events) {
	d.over = true
	out.Add(sdk.Failed).Failure = *f
}

// begin begins the answer, which has neither an id nor a model's name.
func (d *decoder) begin(out *sdk.Events) {
	if !d.began {
		d.began = true
		out.Add(sdk.Begin)
	}
}

// whole reads an answer that is not streamed, block by block.
func (d *decoder) whole(root sdk.Node, out *sdk.Events) error {
	content := root.At("output", "message", "content")
	if !content.Exists() {
		d.fail(sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no message"), out)
		return nil
	}
	d.begin(out)
	i := int64(0)
	for b := range content.Items() {
		if err := d.block(i, b, out); err != nil {
			return err
		}
		i++
	}
	usage(root, out)
	d.finish(root, out)
	return d.End(out)
}

// finish tells why the answer ended
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html).
func (d *decoder) finish(n sdk.Node, out *sdk.Events) {
	if d.finished {
		return
	}
	d.finished = true
	e := out.Add(sdk.Finish)
	e.Native, e.Reason = n.Get("stopReason").Text(), sdk.ReasonStop
	switch n.Get("stopReason").Str() {
	case "tool_use":
		e.Reason = sdk.ReasonTool
	case "max_tokens":
		e.Reason = sdk.ReasonLength
	case "stop_sequence":
		e.Reason, e.Stop = sdk.ReasonStopText, n.At("additionalModelResponseFields", "stop_sequence").Text()
	case "guardrail_intervened", "content_filtered":
		e.Reason = sdk.ReasonFilter
	case "refusal":
		e.Reason = sdk.ReasonRefusal
	case "model_context_window_exceeded":
		e.Reason = sdk.ReasonContext
	case "malformed_model_output", "malformed_tool_use":
		e.Reason = sdk.ReasonFault
	}
}

// usage reads figures: cached tokens stand beside the input
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html).
func usage(root sdk.Node, out *sdk.Events) {
	u := root.Get("usage")
	if u.Len() == 0 {
		return
	}
	c := sdk.Counts{
		Tier:       sdk.TierOf(root.At("serviceTier", "type").Str()),
		Input:      u.Get("inputTokens").Int(),
		CacheRead:  u.Get("cacheReadInputTokens").Int(),
		CacheWrite: u.Get("cacheWriteInputTokens").Int(),
		Output:     u.Get("outputTokens").Int(),
	}
	for kept := range u.Get("cacheDetails").Items() {
		if kept.Get("ttl").Is("1h") {
			c.CacheWriteHour += kept.Get("inputTokens").Int()
		}
	}
	out.Add(sdk.UsageSeen).Usage = sdk.UsageBeside(c)
}
