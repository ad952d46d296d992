package gemini

import (
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// encoding is the work on one request.
type encoding struct {
	*sdk.Request
	settings
	generation
	plan   *sdk.Plan
	w      *sdk.Writer
	system []block
	turns  []turn
	names  map[string]string // tool names that had to change
}

// Encode writes the request as contents.
func (p *provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	e := &encoding{Request: r, settings: p.of(r.Provider), generation: generationOf(r.Model), plan: plan, w: &plan.Body}
	if strings.HasSuffix(r.Native, "-embeddings") {
		return e.embed()
	}
	if string(r.Logprobs.Raw()) == "true" {
		return &sdk.Inexpressible{What: "log probabilities", Path: "logprobs"}
	}
	if err := e.arrange(); err != nil {
		return err
	}
	e.w.Object()
	if err := e.writeContents(); err != nil {
		return err
	}
	if err := e.writeTools(); err != nil {
		return err
	}
	e.generationConfig()
	e.identity()
	e.unknown()
	e.w.EndObject()
	return nil
}

// maxStops is how many stop texts the API takes (https://ai.google.dev/api/generate-content#generationconfig).
const maxStops = 5

// generationConfig writes the members that say how the answer is made; each is written where the client sent it, zeros
// too.
func (e *encoding) generationConfig() {
	w := e.w
	w.Name("generationConfig").Object()
	if e.MaxOutput > 0 {
		w.Name("maxOutputTokens").Int(int64(e.MaxOutput))
	}
	w.ValueMember("temperature", e.Temperature)
	w.ValueMember("topP", e.TopP)
	w.ValueMember("topK", e.TopK)
	e.seed()
	w.ValueMember("presencePenalty", e.PresencePenalty)
	w.ValueMember("frequencyPenalty", e.FrequencyPenalty)
	if e.N > 1 {
		w.Name("candidateCount").Int(int64(e.N))
	}
	e.stops()
	e.format()
	e.think()
	w.EndObject()
}

// seed writes the seed, which has 32 bits here (https://ai.google.dev/api/generate-content#generationconfig). A greater one is
// folded, the same for each request: what is asked for is the same answer again.
func (e *encoding) seed() {
	n, err := strconv.ParseFloat(string(e.Seed.Raw()), 64)
	if !e.Seed.Present() || err == nil && math.Abs(n) <= math.MaxInt32 {
		e.w.ValueMember("seed", e.Seed)
		return
	}
	h := fnv.New32a()
	h.Write(e.Seed.Raw())
	folded := int64(h.Sum32() >> 1)
	e.plan.Approximate("seed", "32 bits are taken: sent as "+strconv.FormatInt(folded, 10))
	e.w.Name("seed").Int(folded)
}

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
	e.w.Name("stopSequences").Array()
	for _, s := range able {
		e.w.Text(s)
	}
	e.w.EndArray()
}

// format writes the form of the answer. JSON Schema has a member of its own, which takes $ref, $defs and the like as they
// are (https://ai.google.dev/gemini-api/docs/structured-output).
//
// Models before 3 refuse a form beside functions (https://github.com/googleapis/python-genai/issues/867).
func (e *encoding) format() {
	kind := e.Format.Kind
	if functions := func(t sdk.Tool) bool { return t.Kind == sdk.FunctionTool }; e.generation != since3 && slices.ContainsFunc(e.Tools, functions) {
		if kind == sdk.FormatJSON || kind == sdk.FormatSchema {
			e.plan.Lose("response_format", "the model takes no form of the answer beside tools")
		}
		return
	}
	switch kind {
	case sdk.FormatJSON:
		e.w.Name("responseMimeType").String("application/json")
	case sdk.FormatSchema:
		e.w.Name("responseMimeType").String("application/json")
		e.w.ValueMember("responseJsonSchema", reworded(e.Format.Schema))
	}
}

// identity notes what the API has no member for.
func (e *encoding) identity() {
	if e.User.Present() {
		e.plan.Drop("user", "the API has no user")
	}
	if e.Metadata.Present() {
		e.plan.Drop("metadata", "the API has no metadata")
	}
	if e.ServiceTier.Present() && !e.ServiceTier.Is("auto") && !e.ServiceTier.Is("default") {
		e.plan.Drop("service_tier", "the tiers are not the same")
	}
	if e.CacheKey.Present() {
		e.plan.Drop("prompt_cache_key", "caching is by the prompt's beginning")
	}
	if mark := e.CacheMark(); mark != "" {
		e.plan.Drop(mark, "caching is by the prompt's beginning")
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

// think asks for thinking: up to 2.5 within a budget, from 3 on at a level. Efforts become budgets as Google's own
// endpoint for OpenAI's clients has it (https://ai.google.dev/gemini-api/docs/openai, thinking); levels and ranges are of
// https://ai.google.dev/gemini-api/docs/thinking.
func (e *encoding) think() {
	r := &e.Reasoning
	off := r.Effort == "none" || r.Mode == sdk.ReasoningOff
	asked := off || r.Effort != "" || r.Budget > 0 || r.Mode != sdk.ReasoningUnset
	show := string(r.Include.Raw())
	if !asked && show != "true" {
		return
	}
	if e.generation == before25 {
		if !off {
			e.plan.Drop("reasoning", "the model does not think")
		}
		return
	}
	e.w.Name("thinkingConfig").Object()
	switch {
	case off:
		e.least()
	case r.Budget > 0:
		e.w.Name("thinkingBudget").Int(int64(e.budget(r.Budget)))
	case e.generation == is25 && r.Effort != "":
		n := budgetOf(r.Effort)
		e.plan.ApproximateEffort(r.Effort, "a budget of "+strconv.Itoa(n)+" tokens")
		e.w.Name("thinkingBudget").Int(int64(e.budget(n)))
	case r.Effort != "":
		e.w.Name("thinkingLevel").String(e.level())
	}
	if !off && show != "false" && r.Display != "omitted" {
		e.w.Name("includeThoughts").Bool(true)
	}
	e.w.EndObject()
}

func budgetOf(effort string) int {
	switch effort {
	case "minimal", "low":
		return 1024
	case "medium":
		return 8192
	}
	return 24576
}

// budget brings a budget into the model's range.
func (e *encoding) budget(n int) int {
	least, most := 1, 24576
	switch {
	case e.generation == since3 || strings.Contains(e.Model, "pro"):
		least, most = 128, 32768
	case strings.Contains(e.Model, "lite"):
		least = 512
	}
	in := min(max(n, least), most)
	if in != n {
		e.plan.ApproximateBudget(n, "one of "+strconv.Itoa(in)+" tokens, the model's nearest")
	}
	return in
}

// level gives the effort in the words of models from 3 on, of which the Pro ones have no minimal.
func (e *encoding) level() string {
	switch effort := e.Reasoning.Effort; effort {
	case "minimal":
		if strings.Contains(e.Model, "pro") {
			e.plan.ApproximateEffort(effort, "low")
			return "low"
		}
		return effort
	case "low", "medium", "high":
		return effort
	default:
		e.plan.ApproximateEffort(effort, "high")
		return "high"
	}
}

// least turns thinking off, or as low as the model lets it.
func (e *encoding) least() {
	pro := strings.Contains(e.Model, "pro")
	switch {
	case e.generation == is25 && !pro:
		e.w.Name("thinkingBudget").Int(0)
		return
	case e.generation == is25:
		e.w.Name("thinkingBudget").Int(128)
	case pro:
		e.w.Name("thinkingLevel").String("low")
	default:
		e.w.Name("thinkingLevel").String("minimal")
	}
	e.plan.Approximate("reasoning", "the model always thinks: sent as its least")
}
