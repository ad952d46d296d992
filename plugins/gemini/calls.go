package gemini

import (
	"cmp"
	"slices"

	"github.com/penstock-gateway/penstock/sdk"
)

// openCall is a call that waits for its result.
type openCall struct {
	key    string // its id, without the signature
	native string // the API's own id; "" where it gave none
	name   string
	done   bool
}

// noSignature takes the place of a signature that a client has lost or another model's call never had. Models from 3 on
// answer 400 where the first call of a step has none
// (https://ai.google.dev/gemini-api/docs/thought-signatures, FAQs).
const noSignature = "skip_thought_signature_validator"

// modelParts writes a turn of the model and gives its calls.
func (e *encoding) modelParts(parts []block) ([]openCall, error) {
	var calls []openCall
	for _, b := range parts {
		switch b.Kind {
		case sdk.PartText, sdk.PartRefusal:
			e.text(b.Text)
		case sdk.PartCall:
			c, err := e.call(b, len(calls) == 0)
			if err != nil {
				return nil, err
			}
			calls = append(calls, c)
		case sdk.PartImage, sdk.PartAudio, sdk.PartDocument, sdk.PartVideo:
			if err := e.media(b); err != nil {
				return nil, err
			}
		default:
			e.plan.Lose(b.path, "the API has no such part here")
		}
	}
	return calls, nil
}

func (e *encoding) call(b block, first bool) (openCall, error) {
	c := b.Call
	if c == nil {
		return openCall{}, &sdk.Invalid{Path: b.path, Message: "want a tool call"}
	}
	name, err := e.toolName(c.Name, b.path+".name")
	if err != nil {
		return openCall{}, err
	}
	id := readID(c.ID)
	signature := b.Signature
	if signature.Empty() {
		signature = id.signature
	}
	if signature.Empty() && first && e.generation == since3 {
		signature = sdk.RawText([]byte(noSignature))
	}
	e.w.Object()
	e.w.Name("functionCall").Object()
	e.w.StringMember("id", id.native)
	e.w.Name("name").String(name)
	e.w.Name("args").Arguments(c)
	e.w.EndObject()
	if !signature.Empty() {
		e.w.Name("thoughtSignature").Text(signature)
	}
	e.w.EndObject()
	return openCall{key: id.key, native: id.native, name: name}, nil
}

// answered is a result and the call that it answers.
type answered struct {
	block
	native, name string
	order        int
}

// pair finds the call that a result answers: that of its id, or the first open one of its tool where it has none.
func (e *encoding) pair(b block, calls []openCall) (answered, error) {
	r := b.Result
	if r == nil {
		return answered{}, &sdk.Invalid{Path: b.path, Message: "want a tool result"}
	}
	id, name := readID(r.ID), ""
	if !r.Name.Empty() {
		n, err := e.toolName(r.Name, b.path+".name")
		if err != nil {
			return answered{}, err
		}
		name = n
	}
	for i := range calls {
		c := &calls[i]
		if c.done || id.key != c.key && (id.key != "" || name != "" && name != c.name) {
			continue
		}
		c.done = true
		return answered{b, c.native, c.name, i}, nil
	}
	if name == "" {
		return answered{}, &sdk.Invalid{Path: b.path, Message: "want the result of a call in the turn before it"}
	}
	return answered{b, id.native, name, len(calls)}, nil
}

func inCallOrder(results []answered) {
	slices.SortStableFunc(results, func(a, b answered) int { return cmp.Compare(a.order, b.order) })
}

// result writes what a tool said: its text under output, or error
// (https://ai.google.dev/api/caching#FunctionResponse). Media stand inside for models from 3 on, and are given back for
// the turn otherwise.
func (e *encoding) result(a answered) (after []block, err error) {
	var texts []sdk.Text
	var inside []block
	for i := range a.Result.Parts {
		p := block{&a.Result.Parts[i], sdk.PartPath(a.path, a.Result.Parts, i)}
		text := p.Text
		if p.Kind == sdk.PartDocument && p.Media != nil && p.Media.Body.Present() {
			e.plan.DropAbout(p.path, p.Media, false)
			e.plan.Approximate(p.path, "the document is sent as text")
			p.Kind, text = sdk.PartText, p.Media.Body
		}
		switch p.Kind {
		case sdk.PartText, sdk.PartRefusal:
			if len(texts) > 0 {
				texts = append(texts, sdk.T("\n"))
			}
			texts = append(texts, text)
		case sdk.PartImage, sdk.PartAudio, sdk.PartDocument, sdk.PartVideo:
			if e.generation == since3 && p.Media != nil && p.Media.Data.Present() && mimeOf(p.Kind, p.Media) != "" {
				inside = append(inside, p)
			} else {
				e.plan.Approximate(p.path, "the model takes no media in a result: sent beside it")
				after = append(after, p)
			}
		default:
			e.plan.Lose(p.path, "a result holds text and media")
		}
	}
	member := "output"
	if a.Result.Error {
		member = "error"
	}
	e.w.Object()
	e.w.Name("functionResponse").Object()
	e.w.StringMember("id", a.native)
	e.w.Name("name").String(a.name)
	e.w.Name("response").Object()
	e.w.Name(member).Joined(texts...)
	e.w.EndObject()
	if len(inside) > 0 {
		e.w.Name("parts").Array()
		for _, p := range inside {
			if err := e.media(p); err != nil {
				return nil, err
			}
		}
		e.w.EndArray()
	}
	e.w.EndObject()
	e.w.EndObject()
	return after, nil
}
