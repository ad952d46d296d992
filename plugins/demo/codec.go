package demo

import "github.com/penstock-gateway/penstock/sdk"

// Encode writes a request of the demo's own form:
//
//	{"model":"echo","say":"hello","bytes":5,"tools":["lookup"],"stream":true}
//
// say is the text of the last message, bytes how much text there is in all.
func (p *provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	if do := p.self[r.Model]; do != nil {
		do()
	}
	if r.N > 1 {
		return &sdk.Inexpressible{What: "several answers", Path: "n"}
	}
	size := 0
	var say []sdk.Text
	for i := range r.Messages {
		m := &r.Messages[i]
		if i < len(r.Messages)-1 {
			plan.Drop(m.Path, "the demo answers the last message")
		}
		say = say[:0]
		for j := range m.Parts {
			texts := textsOf(&m.Parts[j])
			if len(texts) == 0 && i == len(r.Messages)-1 {
				plan.Drop(sdk.PartPath(m.Path, m.Parts, j), "the demo reads text only")
			}
			for _, t := range texts {
				size += t.Len()
			}
			say = append(say, texts...)
		}
	}
	w := &plan.Body
	w.Object()
	w.Name("model").String(r.Model)
	w.Name("say").Joined(say...)
	w.Name("bytes").Int(int64(size))
	w.Name("tools").Array()
	for i := range r.Tools {
		t := &r.Tools[i]
		w.Text(t.Name)
		if t.Description.Present() || t.Parameters.Present() {
			plan.Drop(sdk.ToolPath(r.Tools, i), "the demo goes by a tool's name")
		}
	}
	w.EndArray()
	w.Name("stream").Bool(r.Stream)
	w.EndObject()
	leave(r, plan)
	return nil
}

// leave notes what an echo has no use for: how it is to be said. A form that the client relies on is a loss.
func leave(r *sdk.Request, plan *sdk.Plan) {
	for _, m := range []struct {
		name string
		sent bool
	}{
		{"temperature", r.Temperature.Present()}, {"top_p", r.TopP.Present()}, {"top_k", r.TopK.Present()}, {"seed", r.Seed.Present()},
		{"frequency_penalty", r.FrequencyPenalty.Present()}, {"presence_penalty", r.PresencePenalty.Present()},
		{"reasoning", r.Reasoning.Mode != sdk.ReasoningUnset || r.Reasoning.Effort != ""},
	} {
		if m.sent {
			plan.Drop(m.name, "an echo has no use for it")
		}
	}
	if r.Format.Kind == sdk.FormatJSON || r.Format.Kind == sdk.FormatSchema {
		plan.Lose("response_format", "an echo has no form")
	}
}

// textsOf gives a part's texts; a part may have none.
func textsOf(p *sdk.Part) []sdk.Text {
	switch p.Kind {
	case sdk.PartText, sdk.PartThinking, sdk.PartRefusal:
		return []sdk.Text{p.Text}
	case sdk.PartResult:
		var texts []sdk.Text
		if p.Result != nil {
			for i := range p.Result.Parts {
				texts = append(texts, textsOf(&p.Result.Parts[i])...)
			}
		}
		return texts
	}
	return nil
}

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
