package demo

import (
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// Encode writes a request of the demo's own form:
//
//	{"model":"echo","say":"hello","bytes":5,"tools":["lookup"],"stream":true}
//
// say is the text of the last message, bytes how much text there is in all.
func (p *provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	if r.N > 1 {
		return &sdk.Inexpressible{What: "several answers", Path: "n"}
	}
	size := 0
	var say []sdk.Text
	for i := range r.Messages {
		m := &r.Messages[i]
		say = say[:0]
		for j := range m.Parts {
			texts := textsOf(&m.Parts[j])
			if texts == nil {
				plan.Drop(m.Path+".content["+strconv.Itoa(j)+"]", "the demo reads text only")
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
		w.Text(r.Tools[i].Name)
	}
	w.EndArray()
	w.Name("stream").Bool(r.Stream)
	w.EndObject()
	return nil
}

// textsOf gives a part's texts, and nil for a part that has none to give.
func textsOf(p *sdk.Part) []sdk.Text {
	switch p.Kind {
	case sdk.PartText, sdk.PartThinking, sdk.PartRefusal:
		return []sdk.Text{p.Text}
	case sdk.PartCall:
		return []sdk.Text{}
	case sdk.PartResult:
		texts := []sdk.Text{}
		if p.Result != nil {
			for i := range p.Result.Parts {
				texts = append(texts, textsOf(&p.Result.Parts[i])...)
			}
		}
		return texts
	}
	return nil
}
