package demo

import "github.com/penstock-gateway/penstock/sdk"

// NewDecoder makes the decoder of an answer. A line of a stream holds some of the members, a whole answer all of them:
//
//	{"id":"say-1","model":"echo"}
//	{"text":"hello "}
//	{"call":{"id":"call_1","name":"lookup","input":{"town":"Oslo"}}}
//	{"usage":{"input":3,"output":5},"end":"stop"}
func (p *provider) NewDecoder(sdk.AnswerInfo) sdk.Decoder { return &decoder{} }

type decoder struct{ calls int }

// Decode reads one line of a stream, or a whole answer.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if f.Doc == nil {
		return nil
	}
	line := f.Doc.Root()
	if e := line.Get("error"); e.Exists() {
		out.Add(sdk.Failed).Failure = sdk.Failure{Kind: sdk.UpstreamError, Message: e.Get("message").Str()}
		return nil
	}
	if id := line.Get("id"); id.Exists() {
		e := out.Add(sdk.Begin)
		e.ID, e.Name = id.Text(), line.Get("model").Text()
	}
	out.Text(0, line.Get("text").Text())
	if c := line.Get("call"); c.Exists() {
		d.call(c, out)
	}
	for c := range line.Get("calls").Items() {
		d.call(c, out)
	}
	if u := line.Get("usage"); u.Exists() {
		out.Add(sdk.UsageSeen).Usage = sdk.UsageWithin(sdk.Counts{Input: u.Get("input").Int(), Output: u.Get("output").Int()})
	}
	if end := line.Get("end"); end.Exists() {
		e := out.Add(sdk.Finish)
		e.Reason, e.Native = sdk.ReasonStop, end.Text()
		if d.calls > 0 {
			e.Reason = sdk.ReasonTool
		}
		out.Add(sdk.Done)
	}
	return nil
}

func (d *decoder) call(c sdk.Node, out *sdk.Events) {
	e := out.Add(sdk.ToolBegin)
	e.Call, e.ID, e.Name = d.calls, c.Get("id").Text(), c.Get("name").Text()
	e = out.Add(sdk.ToolInput)
	e.Call, e.Text = d.calls, c.Get("input").Value().Text()
	out.Add(sdk.ToolEnd).Call = d.calls
	d.calls++
}

// End has nothing to add: a complete answer has said its end.
func (d *decoder) End(*sdk.Events) error { return nil }
