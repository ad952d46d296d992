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
