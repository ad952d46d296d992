package openaichat

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Decode builds the middle form. Members that are null count as absent: clients send answers back as they came.
func (d Dialect) Decode(doc *jsonspan.Doc, req *sdk.Request) error {
	r := decoder{Reader: dialect.Read(doc), req: req}
	req.Dialect = d.Name()
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	for k, v := range r.Members(0) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		name := string(r.Name(k))
		if r.turns(name, v) || r.sampling(name, v) || r.wishes(name, v) || r.routing(name) {
			continue
		}
		r.unknown(v)
	}
	r.finish()
	return r.Fault()
}

// decoder fills a request.
type decoder struct {
	dialect.Reader
	req       *sdk.Request
	oldLimit  int      // max_tokens, which max_completion_tokens beats
	oldUser   sdk.Text // user, which beats safety_identifier
	functions int      // old function_call turns, whose ids are made
}

// finish settles what two members say about one thing.
func (r *decoder) finish() {
	if r.req.MaxOutput == 0 {
		r.req.MaxOutput = r.oldLimit
	}
	if r.oldUser.Present() {
		r.req.User = r.oldUser
	}
	if r.req.Reasoning.Effort == "none" {
		r.req.Reasoning.Mode = sdk.ReasoningOff
	}
}

// unknown keeps a value that the middle form has no member for.
func (r *decoder) unknown(v int) {
	r.req.Unknown = append(r.req.Unknown, sdk.Member{Path: r.Path(v), Value: r.Value(v)})
}

// rest keeps the members of an object that are not among the known ones.
func (r *decoder) rest(obj int, known ...string) {
members:
	for k, v := range r.Members(obj) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		for _, name := range known {
			if r.Is(k, name) {
				continue members
			}
		}
		r.unknown(v)
	}
}

// turns reads messages and tools.
func (r *decoder) turns(name string, v int) bool {
	switch name {
	case "messages":
		r.messages(v)
	case "tools":
		r.tools(v)
	case "functions":
		r.oldFunctions(v)
	case "web_search_options": // a tool to all others
		if r.Object(v) {
			r.req.Tools = append(r.req.Tools, sdk.Tool{Kind: sdk.ForeignTool, Type: name, Raw: r.Value(v), Path: name})
		}
	case "tool_choice":
		r.choice(v)
	case "function_call":
		r.oldChoice(v)
	case "parallel_tool_calls":
		r.req.Choice.Parallel = r.TruthValue(v)
	default:
		return false
	}
	return true
}

// sampling reads the numbers that steer the model, and its limits.
func (r *decoder) sampling(name string, v int) bool {
	q := r.req
	switch name {
	case "temperature":
		q.Temperature = r.Number(v)
	case "top_p":
		q.TopP = r.Number(v)
	case "top_k":
		q.TopK = r.Number(v)
	case "frequency_penalty":
		q.FrequencyPenalty = r.Number(v)
	case "presence_penalty":
		q.PresencePenalty = r.Number(v)
	case "seed":
		q.Seed = r.Number(v)
	case "n":
		q.N = r.Whole(v)
	case "max_completion_tokens":
		q.MaxOutput = r.Limit(v)
	case "max_tokens":
		r.oldLimit = r.Limit(v)
	case "stop":
		r.stop(v)
	case "logprobs":
		q.Logprobs = r.TruthValue(v)
	case "top_logprobs":
		q.TopLogprobs = r.Number(v)
	case "logit_bias":
		if r.Object(v) {
			q.LogitBias = r.Value(v)
		}
	default:
		return false
	}
	return true
}

// wishes reads what the client wants of the answer and of the service.
func (r *decoder) wishes(name string, v int) bool {
	q := r.req
	switch name {
	case "model": // the deployment's takes its place
	case "stream":
		q.Stream = r.Truth(v)
	case "stream_options":
		if r.Object(v) {
			q.WantUsage = r.Truth(r.Get(v, "include_usage"))
			r.rest(v, "include_usage", "include_obfuscation")
		}
	case "response_format":
		r.format(v)
	case "reasoning_effort", "reasoning", "thinking", "enable_thinking":
		r.reasoning(name, v)
	case "extra_body", "chat_template_kwargs":
		return r.within(name, v)
	case "service_tier":
		q.ServiceTier = r.Content(v)
	case "user":
		r.oldUser = r.Content(v)
	case "safety_identifier":
		q.User = r.Content(v)
	case "metadata":
		if r.Object(v) {
			q.Metadata = r.Value(v)
		}
	case "prompt_cache_key":
		q.CacheKey = r.Content(v)
	case "cache_control":
		q.Cache = r.Value(v)
	case "modalities":
		return r.textOnly(v)
	default:
		return false
	}
	return true
}

// routing says whether a member is addressed to the gateway: OpenRouter's extras, which no provider is to see.
func (r *decoder) routing(name string) bool {
	switch name {
	case "models", "provider", "route", "usage", "preset", "transforms":
		return true
	}
	return false
}

// textOnly says whether a list of modalities asks for nothing but text.
func (r *decoder) textOnly(v int) bool {
	if !r.Array(v) {
		return true
	}
	for m := range r.Items(v) {
		if !r.Is(m, "text") {
			return false
		}
	}
	return true
}

func (r *decoder) stop(v int) {
	if r.Kind(v) == jsonspan.String {
		r.req.Stop = append(r.req.Stop, r.Content(v))
		return
	}
	if r.Kind(v) != jsonspan.Array {
		r.Want(v, "a string or a list of strings")
		return
	}
	for s := range r.Items(v) {
		r.req.Stop = append(r.req.Stop, r.Content(s))
	}
}

func (r *decoder) format(v int) {
	if !r.Object(v) {
		return
	}
	f := &r.req.Format
	switch t := r.Get(v, "type"); {
	case t == 0:
		r.Missing(v, "type")
	case r.Is(t, "text"):
		f.Kind = sdk.FormatText
	case r.Is(t, "json_object"):
		f.Kind = sdk.FormatJSON
	case r.Is(t, "json_schema"):
		f.Kind = sdk.FormatSchema
		s := r.Get(v, "json_schema")
		if s == 0 {
			r.Missing(v, "json_schema")
			return
		}
		if r.Object(s) {
			f.Name, f.Description = r.Content(r.Get(s, "name")), r.Content(r.Get(s, "description"))
			f.Schema, f.Strict = r.Value(r.Get(s, "schema")), r.TruthValue(r.Get(s, "strict"))
		}
	default:
		r.unknown(v)
	}
}

// reasoning reads the reasoning switches: OpenAI's own, and those that compatible services have. What one of them says
// stands beside what another says.
func (r *decoder) reasoning(name string, v int) {
	q := &r.req.Reasoning
	switch name {
	case "reasoning_effort":
		r.effort(v)
	case "reasoning": // OpenRouter: https://openrouter.ai/docs/use-cases/reasoning-tokens
		if !r.Object(v) {
			return
		}
		r.effort(r.Get(v, "effort"))
		q.Budget = r.Whole(r.Get(v, "max_tokens"))
		if e := r.Get(v, "enabled"); e > 0 {
			r.switched(r.Truth(e))
		}
		if x := r.Get(v, "exclude"); x > 0 {
			q.Include = sdk.RawValue([]byte("true"))
			if r.Truth(x) {
				q.Include = sdk.RawValue([]byte("false"))
			}
		}
		q.Summary = r.Word(r.Get(v, "summary"))
	case "thinking": // Z.ai, DeepSeek, and Anthropic's form as LiteLLM takes it
		if !r.Object(v) {
			return
		}
		switch t := r.Get(v, "type"); {
		case r.Is(t, "enabled"):
			q.Mode = sdk.ReasoningOn
		case r.Is(t, "adaptive"):
			q.Mode = sdk.ReasoningAdaptive
		case r.Is(t, "disabled"):
			q.Mode = sdk.ReasoningOff
		}
		q.Budget = r.Whole(r.Get(v, "budget_tokens"))
	case "enable_thinking": // Qwen
		r.switched(r.Truth(v))
	}
}

// within reads the switches that stand inside another member: Google's own, as its endpoint of this dialect has them
// (https://ai.google.dev/gemini-api/docs/openai), and those of a chat template, as vLLM and SGLang have them
// (https://docs.vllm.ai/en/latest/features/reasoning_outputs.html). It says whether there was nothing else.
func (r *decoder) within(name string, v int) bool {
	if r.Kind(v) != jsonspan.Object || r.Len(v) != 1 {
		return false
	}
	if name == "chat_template_kwargs" {
		for _, word := range [...]string{"enable_thinking", "thinking"} {
			if on := r.Get(v, word); on > 0 && (r.Kind(on) == jsonspan.True || r.Kind(on) == jsonspan.False) {
				r.switched(r.Truth(on))
				return true
			}
		}
		return false
	}
	google := r.Get(v, "google")
	config := r.Get(google, "thinking_config")
	if r.Kind(config) != jsonspan.Object || r.Len(google) != 1 {
		return false
	}
	q := &r.req.Reasoning
	q.Effort = strings.ToLower(r.Word(r.Get(config, "thinking_level")))
	q.Include = r.TruthValue(r.Get(config, "include_thoughts"))
	switch budget := r.Get(config, "thinking_budget"); {
	case budget == 0:
	case string(r.Raw(budget)) == "-1": // as much as the model likes
		q.Mode = sdk.ReasoningAdaptive
	case string(r.Raw(budget)) == "0":
		q.Mode = sdk.ReasoningOff
	default:
		q.Budget = r.Whole(budget)
	}
	return true
}

func (r *decoder) effort(v int) {
	if v == 0 {
		return
	}
	r.req.Reasoning.Effort = r.Word(v)
}

func (r *decoder) switched(on bool) {
	r.req.Reasoning.Mode = sdk.ReasoningOff
	if on {
		r.req.Reasoning.Mode = sdk.ReasoningOn
	}
}
