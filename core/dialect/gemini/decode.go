package gemini

import (
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Decode builds the middle form. Members that are null count as absent. Whether the answer is a stream is said by the path.
func (d Dialect) Decode(doc *jsonspan.Doc, req *sdk.Request) error {
	r := decoder{reader: reader{dialect.Read(doc)}, req: req}
	req.Dialect, req.WantUsage = d.Name(), true
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	r.request(0)
	if whole := root(&r.reader, "generateContentRequest"); whole > 0 {
		r.request(whole)
	}
	if r.system != nil {
		req.Messages = slices.Insert(req.Messages, 0, *r.system)
	}
	return r.Fault()
}

// decoder fills a request.
type decoder struct {
	reader
	req    *sdk.Request
	system *sdk.Message
	calls  []asked // of the history, for results that do not say which they answer
}

// unknown keeps a value that the middle form has no member for.
func (r *decoder) unknown(v int) {
	r.req.Unknown = append(r.req.Unknown, sdk.Member{Path: r.Path(v), Value: r.Value(v)})
}

// rest keeps the members of an object that are not among the known ones.
func (r *decoder) rest(obj int, known ...string) {
	for k, v := range r.Members(obj) {
		if r.Kind(v) != jsonspan.Null && !slices.Contains(known, string(r.named(k))) {
			r.unknown(v)
		}
	}
}

func (r *decoder) request(obj int) {
	for k, v := range r.Members(obj) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		switch string(r.named(k)) {
		case "contents":
			r.contents(v)
		case "systemInstruction":
			r.instruction(v)
		case "tools":
			r.tools(v)
		case "toolConfig":
			r.toolConfig(v)
		case "generationConfig":
			r.config(v)
		case "labels":
			if r.Object(v) {
				r.req.Metadata = r.Value(v)
			}
		case "serviceTier":
			r.req.ServiceTier = sdk.T(strings.ToLower(r.Word(v)))
		case "model", "generateContentRequest":
		default:
			r.unknown(v)
		}
	}
}

func (r *decoder) config(v int) {
	if !r.Object(v) {
		return
	}
	for k, m := range r.Members(v) {
		if r.Kind(m) == jsonspan.Null {
			continue
		}
		if name := string(r.named(k)); !r.sampling(name, m) && !r.form(name, m) {
			r.unknown(m)
		}
	}
}

// sampling reads the numbers that steer the model, and its limits.
func (r *decoder) sampling(name string, v int) bool {
	q := r.req
	switch name {
	case "temperature":
		q.Temperature = r.Number(v)
	case "topP":
		q.TopP = r.Number(v)
	case "topK":
		q.TopK = r.Number(v)
	case "frequencyPenalty":
		q.FrequencyPenalty = r.Number(v)
	case "presencePenalty":
		q.PresencePenalty = r.Number(v)
	case "seed":
		q.Seed = r.Number(v)
	case "candidateCount":
		q.N = r.Whole(v)
	case "maxOutputTokens":
		q.MaxOutput = r.Limit(v)
	case "stopSequences":
		if r.Array(v) {
			for s := range r.Items(v) {
				q.Stop = append(q.Stop, r.Content(s))
			}
		}
	case "responseLogprobs":
		q.Logprobs = r.TruthValue(v)
	case "logprobs":
		q.TopLogprobs = r.Number(v)
	default:
		return false
	}
	return true
}

// form reads what form the answer is to have, and the thinking before it.
func (r *decoder) form(name string, v int) bool {
	f := &r.req.Format
	switch name {
	case "responseMimeType":
		switch {
		case r.Is(v, "text/plain"):
			f.Kind = max(f.Kind, sdk.FormatText)
		case r.Is(v, "application/json"):
			f.Kind = max(f.Kind, sdk.FormatJSON)
		default:
			return false
		}
	case "responseSchema":
		if r.Object(v) {
			f.Kind, f.Schema = sdk.FormatSchema, r.schema(v)
		}
	case "responseJsonSchema":
		f.Kind, f.Schema = sdk.FormatSchema, r.Value(v)
	case "thinkingConfig":
		r.thinking(v)
	case "responseModalities":
		return r.textOnly(v)
	default:
		return false
	}
	return true
}

// textOnly says whether a list of modalities asks for nothing but text.
func (r *decoder) textOnly(v int) bool {
	if !r.Array(v) {
		return true
	}
	for m := range r.Items(v) {
		if !strings.EqualFold(r.Word(m), "text") {
			return false
		}
	}
	return true
}

// thinking reads thinkingConfig: a budget of 0 is none, of -1 as much as the model likes
// (https://ai.google.dev/gemini-api/docs/thinking).
func (r *decoder) thinking(v int) {
	if !r.Object(v) {
		return
	}
	q := &r.req.Reasoning
	q.Include = r.TruthValue(r.get(v, "includeThoughts"))
	q.Effort = strings.ToLower(r.Word(r.get(v, "thinkingLevel")))
	if budget := r.get(v, "thinkingBudget"); budget > 0 {
		switch n, ok := r.Int(budget); {
		case ok && n == -1:
			q.Mode = sdk.ReasoningAdaptive
		case ok && n == 0:
			q.Mode = sdk.ReasoningOff
		default:
			q.Mode, q.Budget = sdk.ReasoningOn, r.Whole(budget)
		}
	}
	r.rest(v, "includeThoughts", "thinkingLevel", "thinkingBudget")
}
