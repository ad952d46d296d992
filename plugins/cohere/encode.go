package cohere

import (
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// encoding is the work on one request.
type encoding struct {
	*sdk.Request
	plan  *sdk.Plan
	w     *sdk.Writer
	names map[string]string // tool names that had to change
	open  []openCall        // calls of the last assistant message that no result has answered yet
	made  int               // ids made for calls that came without
}

// Encode writes the request as a chat.
func (provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	e := &encoding{Request: r, plan: plan, w: &plan.Body}
	switch {
	case r.Native == embeddingsDialect:
		return e.embed()
	case r.N > 1:
		return &sdk.Inexpressible{What: "several answers", Path: "n"}
	case string(r.Logprobs.Raw()) == "true":
		return &sdk.Inexpressible{What: "log probabilities", Path: "logprobs"}
	}
	e.w.Object()
	e.w.Name("model").String(r.Model)
	e.w.Name("stream").Bool(r.Stream)
	if err := e.writeMessages(); err != nil {
		return err
	}
	tools, err := e.writeTools()
	if err != nil {
		return err
	}
	e.format(tools)
	e.sampling()
	e.stops()
	e.think()
	e.identity()
	e.unknown()
	e.w.EndObject()
	return nil
}

// format writes the form of the answer, which the API does not take beside tools.
func (e *encoding) format(tools bool) {
	switch {
	case e.Format.Kind != sdk.FormatJSON && e.Format.Kind != sdk.FormatSchema:
	case tools:
		e.plan.Lose("response_format", "the API takes none beside tools")
	default:
		e.w.Name("response_format").Object()
		e.w.Name("type").String("json_object")
		if e.Format.Kind == sdk.FormatSchema {
			e.w.ValueMember("json_schema", e.Format.Schema)
		}
		e.w.EndObject()
	}
}

// sampling writes how the next token is chosen, each number within the range that the API has for it.
func (e *encoding) sampling() {
	if e.MaxOutput > 0 {
		e.w.Name("max_tokens").Int(int64(e.MaxOutput))
	}
	e.w.ValueMember("temperature", e.Temperature)
	e.w.ValueMember("seed", e.Seed)
	e.w.ValueMember("k", e.TopK)
	if n, err := strconv.ParseFloat(string(e.TopP.Raw()), 64); err != nil || n < 1 { // 1 cuts nothing
		e.within("p", "top_p", e.TopP, "0.01", "0.99")
	}
	e.within("frequency_penalty", "frequency_penalty", e.FrequencyPenalty, "0", "1")
	e.within("presence_penalty", "presence_penalty", e.PresencePenalty, "0", "1")
}

// within writes a number, or the end of the range that it lies beyond.
func (e *encoding) within(member, path string, v sdk.Value, least, most string) {
	if !v.Present() {
		return
	}
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	low, _ := strconv.ParseFloat(least, 64)
	high, _ := strconv.ParseFloat(most, 64)
	in := string(v.Raw())
	switch {
	case err != nil:
	case n < low:
		in = least
	case n > high:
		in = most
	}
	if in != string(v.Raw()) {
		e.plan.Approximate(path, "from "+least+" to "+most+": sent as "+in)
	}
	e.w.Name(member).Raw(in)
}

// maxStops is how many stop texts the API takes.
const maxStops = 5

func (e *encoding) stops() {
	var able []sdk.Text
	for i, s := range e.Stop {
		switch path := "stop[" + strconv.Itoa(i) + "]"; {
		case s.Empty():
			e.plan.Drop(path, "a stop text must not be empty")
		case len(able) == maxStops:
			e.plan.Lose(path, "the API takes 5 stop texts")
		default:
			able = append(able, s)
		}
	}
	if len(able) == 0 {
		return
	}
	e.w.Name("stop_sequences").Array()
	for _, s := range able {
		e.w.Text(s)
	}
	e.w.EndArray()
}

// think asks for reasoning (https://docs.cohere.com/docs/reasoning). An effort becomes a share of the output limit, as
// OpenRouter documents (https://openrouter.ai/docs/use-cases/reasoning-tokens); without a limit the model decides.
func (e *encoding) think() {
	r := &e.Reasoning
	off := r.Effort == "none" || r.Mode == sdk.ReasoningOff
	switch {
	case !off && r.Mode == sdk.ReasoningUnset && r.Effort == "" && r.Budget == 0:
		return
	case !thinks(e.Model):
		if !off {
			e.plan.Drop("reasoning", "the model is not known to think")
		}
		return
	}
	e.w.Name("thinking").Object()
	if off {
		e.w.Name("type").String("disabled")
		e.w.EndObject()
		return
	}
	budget := r.Budget
	if budget == 0 && r.Effort != "" {
		if budget = e.MaxOutput * share(r.Effort) / 100; budget > 0 {
			e.plan.ApproximateEffort(r.Effort, "a budget of "+strconv.Itoa(budget)+" tokens")
		} else {
			e.plan.ApproximateEffort(r.Effort, "thinking without a budget")
		}
	}
	e.w.Name("type").String("enabled")
	if budget > 0 {
		e.w.Name("token_budget").Int(int64(budget))
	}
	e.w.EndObject()
}

func share(effort string) int {
	switch effort {
	case "minimal":
		return 10
	case "low":
		return 20
	case "high":
		return 80
	case "xhigh", "max":
		return 95
	}
	return 50
}

// identity notes what the API has no member for.
func (e *encoding) identity() {
	for _, m := range []struct {
		name string
		sent bool
	}{
		{"user", e.User.Present()}, {"metadata", e.Metadata.Present()}, {"prompt_cache_key", e.CacheKey.Present()},
		{"service_tier", e.ServiceTier.Present() && !e.ServiceTier.Is("auto")},
	} {
		if m.sent {
			e.plan.Drop(m.name, "the API has no such member")
		}
	}
	if signed := e.SignedPart(); signed != "" {
		e.plan.Drop(signed, "sent without another provider's signature")
	}
	if mark := e.CacheMark(); mark != "" {
		e.plan.Drop(mark, "the API has no marks for its cache")
	}
	if named := e.NamedSpeaker(); named != "" {
		e.plan.Drop(named, "the API has no names of speakers")
	}
	if e.LogitBias.Present() && string(e.LogitBias.Raw()) != "{}" {
		e.plan.Lose("logit_bias", "the API has no logit_bias")
	}
}

func (e *encoding) unknown() {
	for _, m := range e.Unknown {
		if m.Advisory() {
			e.plan.Drop(m.Path, "the API has no such member")
		} else {
			e.plan.Lose(m.Path, "the API has no such member")
		}
	}
}
