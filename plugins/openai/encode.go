package openai

import (
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/schema"
)

// maxStops is how many stop texts a request may have
// (https://platform.openai.com/docs/api-reference/chat/create, stop).
const maxStops = 4

// maxUser is the longest end-user id that OpenAI takes.
const maxUser = 64

// encoding is the work on one request.
type encoding struct {
	*sdk.Request
	service
	plan  *sdk.Plan
	w     *sdk.Writer
	api   string            // what the service speaks here, for notes
	maxID int               // the longest id of a call, in bytes
	names map[string]string // tool names that had to change
	open  []openCall        // calls of the last assistant turn that no result has answered yet
	made  int               // ids made for calls that came without
	used  map[string]bool   // ids of calls that must not be used again
	moved []piece           // media of tool results and words between results, waiting for a user message
	late  []*sdk.Message    // of the system, between results: they wait for the last of them

	searches bool // there is a tool for searches of the web
}

// Encode writes the request in the dialect that the deployment is to be spoken to in.
func (p *provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	e := &encoding{Request: r, service: p.service(r.Provider), plan: plan, w: &plan.Body}
	switch r.Native {
	case "", chatDialect:
		e.api, e.maxID = "chat completions", maxChatID
		return e.chat()
	case responsesDialect:
		e.api, e.maxID = "responses", maxResponsesID
		return e.response()
	case embeddingsDialect:
		return e.embed()
	}
	return &sdk.Inexpressible{What: "a request of dialect " + r.Dialect + " in dialect " + r.Native}
}

// chat writes a chat completion.
func (e *encoding) chat() error {
	e.w.Object()
	e.w.Name("model").String(e.Model)
	if err := e.messages(); err != nil {
		return err
	}
	if err := e.tools(); err != nil {
		return err
	}
	e.limits()
	if err := e.sampling(); err != nil {
		return err
	}
	e.format()
	if e.toggle {
		e.thinking()
	}
	e.w.StringMember("reasoning_effort", e.effort())
	e.w.ValueMember("verbosity", e.wordy())
	e.identity()
	e.unknown()
	if e.Stream {
		e.w.Name("stream").Bool(true)
		if !e.strict {
			e.w.Name("stream_options").Object()
			e.w.Name("include_usage").Bool(true)
			e.w.EndObject()
		}
	}
	e.w.EndObject()
	return nil
}

func (e *encoding) limits() {
	if e.MaxOutput > 0 {
		name := e.limit
		if name == "" {
			name = "max_completion_tokens"
		}
		e.w.Name(name).Int(int64(e.MaxOutput))
	}
	if e.N > 0 {
		e.w.Name("n").Int(int64(e.N))
	}
	stops := e.Stop
	if len(stops) > maxStops {
		e.plan.Lose("stop", "at most 4 stop texts")
		stops = stops[:maxStops]
	}
	if len(stops) > 0 {
		e.w.Name("stop").Array()
		for _, s := range stops {
			e.w.Text(s)
		}
		e.w.EndArray()
	}
}

func (e *encoding) sampling() error {
	e.w.ValueMember("temperature", e.Temperature)
	e.w.ValueMember("top_p", e.TopP)
	if e.topK {
		e.w.ValueMember("top_k", e.TopK)
	} else if e.TopK.Present() {
		e.plan.Drop("top_k", "chat completions have no top_k")
	}
	e.w.ValueMember("frequency_penalty", e.FrequencyPenalty)
	e.w.ValueMember("presence_penalty", e.PresencePenalty)
	seed := e.seed
	if seed == "" {
		seed = "seed"
	}
	e.w.ValueMember(seed, e.Seed)
	switch {
	case !e.strict:
		e.w.ValueMember("logprobs", e.Logprobs)
		if string(e.Logprobs.Raw()) == "true" { // without which it is refused
			e.w.ValueMember("top_logprobs", e.TopLogprobs)
		}
		e.w.ValueMember("logit_bias", e.LogitBias)
	case string(e.Logprobs.Raw()) == "true":
		return &sdk.Inexpressible{What: "log probabilities", Path: "logprobs"}
	case e.LogitBias.Present():
		e.plan.Lose("logit_bias", "the service has no logit_bias")
	}
	return nil
}

func (e *encoding) format() {
	f := &e.Format
	switch f.Kind {
	case sdk.FormatJSON:
		e.w.Name("response_format").Object()
		e.w.Name("type").String("json_object")
		e.w.EndObject()
	case sdk.FormatSchema:
		e.w.Name("response_format").Object()
		e.w.Name("type").String("json_schema")
		e.w.Name("json_schema").Object()
		e.schema()
		e.w.EndObject()
		e.w.EndObject()
	}
}

func (e *encoding) schema() {
	f := &e.Format
	if f.Name.Empty() {
		e.w.Name("name").String("response") // the name is required
	} else {
		e.w.Name("name").Text(f.Name)
	}
	e.w.TextMember("description", f.Description)
	e.w.ValueMember("schema", f.Schema)
	switch {
	case f.Strict.Present() || strings.HasPrefix(e.Dialect, "openai-"):
		e.w.ValueMember("strict", f.Strict)
	case !f.Schema.Held() && schema.Exact(f.Schema.Raw()):
		e.w.Name("strict").Bool(true) // other dialects hold the model to each schema that they are given
	}
}

// identity writes who asks and how the service is to treat the request.
func (e *encoding) identity() {
	switch {
	case e.User.Empty():
	case e.strict:
		e.plan.Drop("user", "the service has no user")
	case e.User.Len() > maxUser:
		e.w.Name("user").String(fingerprint(e.User))
	default:
		e.w.Name("user").Text(e.User)
	}
	if tier := e.tier(); tier != "" {
		e.w.Name("service_tier").String(tier)
	}
	switch {
	case e.compatible || !strings.HasPrefix(e.Dialect, "openai-"):
		if e.Metadata.Present() {
			e.plan.Drop("metadata", "the service has no metadata")
		}
	default:
		e.w.ValueMember("metadata", e.Metadata)
	}
	if !e.CacheKey.Empty() {
		if e.compatible {
			e.plan.Drop("prompt_cache_key", "the service has no prompt_cache_key")
		} else {
			e.w.Name("prompt_cache_key").Text(e.CacheKey)
		}
	}
	if signed := e.SignedPart(); signed != "" {
		e.plan.Drop(signed, "sent without another provider's signature")
	}
	if mark := e.CacheMark(); mark != "" && (!e.cache || e.Native == responsesDialect) {
		e.plan.Drop(mark, "the service caches prompts by itself")
	}
}

// tier gives the service tier in OpenAI's words; "" where there is nothing to ask for.
func (e *encoding) tier() string {
	tier, _ := e.ServiceTier.Decoded()
	if tier == "" {
		return ""
	}
	if e.compatible {
		e.plan.Drop("service_tier", "the service has no tiers of OpenAI's names")
		return ""
	}
	switch tier {
	case "standard_only", "standard":
		return "default"
	case "auto", "default", "flex", "scale", "priority":
		return tier
	}
	e.plan.Drop("service_tier", "no such tier")
	return ""
}

// alike are members that Responses and chat completions have under one name.
func alike(name string) bool {
	switch name {
	case "prompt_cache_retention", "safety_identifier", "store":
		return true
	}
	return false
}

func (e *encoding) unknown() {
	wordy := e.wordy().Present()
	for _, m := range e.Unknown {
		switch {
		case e.shared(m.Path):
			if e.Native != responsesDialect || m.Path != "store" { // which it has elsewhere
				e.w.ValueMember(m.Path, m.Value)
			}
		case wordy && isVerbosity(m.Path):
		case m.Advisory():
			e.plan.Drop(m.Path, e.api+" have no such member")
		default:
			e.plan.Lose(m.Path, e.api+" have no such member")
		}
	}
}

// shared says whether a member that the middle form does not know means the same to the service as to the client.
func (e *encoding) shared(name string) bool {
	return !e.compatible && strings.HasPrefix(e.Dialect, "openai-") && alike(name)
}

// wordy gives how wordy the answer is to be, which OpenAI alone can be told.
func (e *encoding) wordy() sdk.Value {
	if !e.compatible && strings.HasPrefix(e.Dialect, "openai-") {
		for _, m := range e.Unknown {
			if isVerbosity(m.Path) {
				return m.Value
			}
		}
	}
	return sdk.Value{}
}

// isVerbosity says whether a member is verbosity, which responses have inside text.
func isVerbosity(path string) bool { return path == "verbosity" || path == "text.verbosity" }

// effort gives how hard the model is to reason, "" where the client has no wish.
//
// A budget of tokens becomes an effort by its share of the output limit: up to 35% is low, up to 65% medium, more is
// high. These lie between the shares that OpenRouter documents for turning efforts into budgets: low 20%, medium 50%,
// high 80% (https://openrouter.ai/docs/use-cases/reasoning-tokens). Without a limit the bounds are 4,096 and 16,384
// tokens.
func (e *encoding) effort() string {
	r := &e.Reasoning
	switch {
	case e.toggle && e.unthinking() && e.Native == responsesDialect:
		return "none"
	case e.toggle && e.unthinking():
		return ""
	case r.Effort != "":
		return e.nearest(r.Effort)
	case r.Mode == sdk.ReasoningOff:
		return e.noEffort()
	case r.Budget > 0:
		effort := share(r.Budget, e.MaxOutput)
		e.plan.ApproximateBudget(r.Budget, "an effort of "+effort)
		return effort
	case r.Mode == sdk.ReasoningOn:
		return "medium"
	}
	return ""
}

// unthinking says whether the model is not to reason.
func (e *encoding) unthinking() bool {
	return e.Reasoning.Mode == sdk.ReasoningOff || e.Reasoning.Effort == "none"
}

// thinking writes the switch that some services have beside the effort, or in its place
// (https://api-docs.deepseek.com/guides/thinking_mode, https://docs.z.ai/guides/capabilities/thinking-mode,
// https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model). Most of their models think unless they are told not to.
func (e *encoding) thinking() {
	r := &e.Reasoning
	if r.Mode == sdk.ReasoningUnset && r.Effort == "" && r.Budget == 0 {
		return
	}
	kind := "enabled"
	if e.unthinking() {
		kind = "disabled"
	}
	e.w.Name("thinking").Object()
	e.w.Name("type").String(kind)
	e.w.EndObject()
}

// nearest gives an effort in words that the model knows. What an OpenAI client says stays, and OpenAI says what it thinks of
// it; other dialects have words of their own.
func (e *encoding) nearest(effort string) string {
	if e.compatible || strings.HasPrefix(e.Dialect, "openai-") {
		return effort
	}
	known := effortsOf(e.Model)
	if len(known) == 0 {
		e.plan.Drop("reasoning", "the model does not reason")
		return ""
	}
	if slices.Contains(known, effort) {
		return effort
	}
	sent := known[len(known)-1]
	if effort == "minimal" {
		sent = "low"
	}
	e.plan.ApproximateEffort(effort, sent)
	return sent
}

// effortsOf gives the efforts that a model of OpenAI knows, the greatest last; none where it does not reason. A name that is
// not known is a new model's (https://platform.openai.com/docs/api-reference/responses/create, reasoning.effort;
// https://platform.openai.com/docs/guides/reasoning).
func effortsOf(model string) []string {
	efforts := []string{"none", "low", "medium", "high", "xhigh", "max"}
	has := func(prefix string) bool { return strings.HasPrefix(model, prefix) }
	switch {
	case has("gpt-4"), has("gpt-3"), has("chatgpt-"), has("gpt-5") && strings.Contains(model, "-chat"):
		return nil
	case has("o1"), has("o3"), has("o4"):
		return efforts[1:4]
	case has("gpt-5.1-codex-max"), has("gpt-5.2"), has("gpt-5.3"), has("gpt-5.4"), has("gpt-5.5"):
		return efforts[:5]
	case has("gpt-5.1"):
		return efforts[:4]
	case has("gpt-5") && !has("gpt-5."):
		return []string{"minimal", "low", "medium", "high"}
	}
	return efforts
}

// noEffort is how a model is told not to reason, "" where it needs no telling.
func (e *encoding) noEffort() string {
	known := effortsOf(e.Model)
	if e.compatible || len(known) == 0 {
		return ""
	}
	if known[0] != "none" {
		e.plan.Approximate("reasoning", "the model reasons always: its least effort is asked for")
	}
	return known[0]
}

func share(budget, limit int) string {
	low, medium := 4096, 16384
	if limit > 0 {
		low, medium = limit*35/100, limit*65/100
	}
	switch {
	case budget <= low:
		return "low"
	case budget <= medium:
		return "medium"
	}
	return "high"
}
