package anthropic

import (
	"maps"
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// defaultMax is the output limit where neither the client nor the deployment has one: the API demands one.
const defaultMax = 4096

// encoding is the work on one request.
type encoding struct {
	*sdk.Request
	version
	plan   *sdk.Plan
	w      *sdk.Writer
	system []block
	turns  []turn
	names  map[string]string     // tool names that had to change
	open   []openCall            // calls of the last assistant turn that no result has answered yet
	made   int                   // ids made for calls that came without
	used   map[string]bool       // ids of the calls so far
	extra  map[*sdk.Value]string // cache marks that are too many
}

// maxMarks is how many cache marks a request may have
// (https://platform.claude.com/docs/en/build-with-claude/prompt-caching; https://github.com/Wei-Shaw/sub2api/issues/176).
const maxMarks = 4

// Encode writes the request as a message.
func (p *provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	e := &encoding{Request: r, version: versionOf(r.Model), plan: plan, w: &plan.Body}
	if err := e.inexpressible(); err != nil {
		return err
	}
	if err := e.arrange(); err != nil {
		return err
	}
	e.extra = r.ExtraMarks(maxMarks)
	e.w.Object()
	if p.isVertex(r.Provider) {
		e.w.Name("anthropic_version").String(vertexVersion)
	} else {
		e.w.Name("model").String(r.Model)
	}
	e.w.Name("max_tokens").Int(int64(e.maxTokens()))
	e.writeSystem()
	if err := e.writeTurns(); err != nil {
		return err
	}
	if err := e.writeTools(); err != nil {
		return err
	}
	e.stops()
	thought := e.think()
	e.outputConfig(thought)
	e.sampling(thought.mode != "")
	e.identity()
	e.w.ValueMember("cache_control", r.Cache)
	e.unknown()
	if r.Stream {
		e.w.Name("stream").Bool(true)
	}
	e.w.EndObject()
	return nil
}

// inexpressible finds what the API has no way to say and what must not be left out.
func (e *encoding) inexpressible() error {
	switch {
	case e.N > 1:
		return &sdk.Inexpressible{What: "several answers", Path: "n"}
	case string(e.Logprobs.Raw()) == "true":
		return &sdk.Inexpressible{What: "log probabilities", Path: "logprobs"}
	}
	return nil
}

func (e *encoding) maxTokens() int {
	switch {
	case e.MaxOutput > 0:
		return e.MaxOutput
	case e.DefaultMax > 0:
		return e.DefaultMax
	}
	return defaultMax
}

// stops writes the stop texts; blank ones are refused by the API.
func (e *encoding) stops() {
	var able []sdk.Text
	for i, s := range e.Stop {
		if blank(s) {
			e.plan.Drop("stop["+strconv.Itoa(i)+"]", "a stop text must not be blank")
			continue
		}
		able = append(able, s)
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

// outputConfig writes the form of the answer, and the effort.
func (e *encoding) outputConfig(t thought) {
	switch e.Format.Kind {
	case sdk.FormatJSON:
		e.plan.Lose("response_format", "the Messages API has no JSON mode without a schema")
	case sdk.FormatSchema:
		e.w.Name("output_config").Object()
		e.w.Name("format").Object()
		e.w.Name("type").String("json_schema")
		e.w.ValueMember("schema", e.fitted(e.Format.Schema, "response_format.json_schema.schema"))
		e.w.EndObject()
		e.w.StringMember("effort", t.effort)
		e.w.EndObject()
		return
	}
	if t.effort != "" {
		e.w.Name("output_config").Object()
		e.w.Name("effort").String(t.effort)
		e.w.EndObject()
	}
}

// sampling writes temperature, top_p and top_k as far as the model takes them: models from 4.7 on take none, thinking
// models none while they think, and models from 4.1 on one of temperature and top_p
// (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
func (e *encoding) sampling(thinking bool) {
	drop := func(name string, v sdk.Value, why string) bool {
		if v.Present() {
			e.plan.Drop(name, why)
		}
		return false
	}
	switch {
	case e.atLeast(4, 7):
		e.without("the model takes no sampling parameters")
	case thinking:
		e.without("not with thinking")
	default:
		e.temperature()
		if e.Temperature.Present() && e.atLeast(4, 1) {
			drop("top_p", e.TopP, "the model takes one of temperature and top_p")
		} else {
			e.w.ValueMember("top_p", e.TopP)
		}
		e.w.ValueMember("top_k", e.TopK)
	}
	drop("seed", e.Seed, "the Messages API has no seed")
	if !zero(e.FrequencyPenalty) {
		drop("frequency_penalty", e.FrequencyPenalty, "the Messages API has no penalties")
	}
	if !zero(e.PresencePenalty) {
		drop("presence_penalty", e.PresencePenalty, "the Messages API has no penalties")
	}
	if e.LogitBias.Present() && string(e.LogitBias.Raw()) != "{}" {
		e.plan.Lose("logit_bias", "the Messages API has no logit_bias")
	}
}

func (e *encoding) without(why string) {
	for _, p := range []struct {
		name string
		v    sdk.Value
	}{{"temperature", e.Temperature}, {"top_p", e.TopP}, {"top_k", e.TopK}} {
		if n, err := strconv.ParseFloat(string(p.v.Raw()), 64); p.v.Present() && (err != nil || p.name == "top_k" || n != 1) {
			e.plan.Drop(p.name, why)
		}
	}
}

// temperature goes from 0 to 1 here, to 2 elsewhere.
func (e *encoding) temperature() {
	if n, err := strconv.ParseFloat(string(e.Temperature.Raw()), 64); err == nil && n > 1 {
		e.plan.Approximate("temperature", "at most 1: sent as 1")
		e.w.Name("temperature").Int(1)
		return
	}
	e.w.ValueMember("temperature", e.Temperature)
}

func zero(v sdk.Value) bool {
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	return err == nil && n == 0
}

// identity writes who asks and how the service is to treat the request.
func (e *encoding) identity() {
	if !e.User.Empty() {
		e.w.Name("metadata").Object()
		e.w.Name("user_id").Text(e.User)
		e.w.EndObject()
	}
	if e.Metadata.Present() {
		e.plan.Drop("metadata", "the Messages API has the user's id only")
	}
	switch tier, _ := e.ServiceTier.Decoded(); tier {
	case "":
	case "auto":
		e.w.Name("service_tier").String("auto")
	case "default", "standard", "standard_only":
		e.w.Name("service_tier").String("standard_only")
	default:
		e.plan.Drop("service_tier", "the Messages API has auto and standard_only")
	}
	if signed := e.SignedPart(); signed != "" {
		e.plan.Drop(signed, "sent without another provider's signature")
	}
	if named := e.NamedSpeaker(); named != "" {
		e.plan.Drop(named, "the Messages API has no names of speakers")
	}
	for _, path := range slices.Sorted(maps.Values(e.extra)) {
		e.plan.Drop(path, "a request has at most 4 cache marks")
	}
	if e.CacheKey.Present() {
		e.plan.Drop("prompt_cache_key", "caching goes by cache_control")
	}
}

func (e *encoding) unknown() {
	for _, m := range e.Unknown {
		if m.Advisory() {
			e.plan.Drop(m.Path, "the Messages API has no such member")
		} else {
			e.plan.Lose(m.Path, "the Messages API has no such member")
		}
	}
}
