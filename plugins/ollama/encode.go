package ollama

import (
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// encoding is the work on one request.
type encoding struct {
	*sdk.Request
	settings
	plan *sdk.Plan
	w    *sdk.Writer
}

// Encode writes the request as a chat.
func (p *provider) Encode(r *sdk.Request, plan *sdk.Plan) error {
	e := &encoding{Request: r, settings: p.of(r.Provider), plan: plan, w: &plan.Body}
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
	if err := e.writeTools(); err != nil {
		return err
	}
	switch e.Format.Kind {
	case sdk.FormatJSON:
		e.w.Name("format").String("json")
	case sdk.FormatSchema:
		e.w.ValueMember("format", e.Format.Schema)
	}
	e.options()
	e.think()
	e.w.StringMember("keep_alive", e.KeepAlive)
	e.identity()
	e.unknown()
	e.w.EndObject()
	return nil
}

// options writes how a model is run (https://docs.ollama.com/modelfile, valid parameters).
func (e *encoding) options() {
	w := e.w
	w.Name("options").Object()
	if e.settings.Context > 0 {
		w.Name("num_ctx").Int(int64(e.settings.Context))
	}
	if e.MaxOutput > 0 {
		w.Name("num_predict").Int(int64(e.MaxOutput))
	}
	w.ValueMember("temperature", e.Temperature)
	w.ValueMember("top_p", e.TopP)
	w.ValueMember("top_k", e.TopK)
	w.ValueMember("seed", e.Seed)
	w.ValueMember("frequency_penalty", e.FrequencyPenalty)
	w.ValueMember("presence_penalty", e.PresencePenalty)
	if len(e.Stop) > 0 {
		w.Name("stop").Array()
		for _, s := range e.Stop {
			w.Text(s)
		}
		w.EndArray()
	}
	w.EndObject()
}

// think asks for reasoning: gpt-oss takes a level and ignores yes and no, the others take nothing else
// (https://docs.ollama.com/capabilities/thinking).
func (e *encoding) think() {
	r := &e.Reasoning
	leveled := strings.Contains(e.Model, "gpt-oss")
	switch {
	case r.Effort == "none", r.Mode == sdk.ReasoningOff:
		e.w.Name("think").Bool(false)
		return
	case r.Mode == sdk.ReasoningUnset && r.Effort == "" && r.Budget == 0:
		return
	case leveled:
		e.w.Name("think").String(e.level())
		return
	case r.Budget > 0:
		e.plan.ApproximateBudget(r.Budget, "thinking without one")
	case r.Effort != "":
		e.plan.ApproximateEffort(r.Effort, "thinking without one")
	}
	e.w.Name("think").Bool(true)
}

// level gives the effort in the words of gpt-oss. A budget becomes one by its share of the output limit, between the
// shares that OpenRouter documents (https://openrouter.ai/docs/use-cases/reasoning-tokens).
func (e *encoding) level() string {
	r := &e.Reasoning
	if r.Effort == "" {
		if r.Budget == 0 {
			return "medium"
		}
		low, medium := 4096, 16384
		if e.MaxOutput > 0 {
			low, medium = e.MaxOutput*35/100, e.MaxOutput*65/100
		}
		level := "high"
		switch {
		case r.Budget <= low:
			level = "low"
		case r.Budget <= medium:
			level = "medium"
		}
		e.plan.ApproximateBudget(r.Budget, "an effort of "+level)
		return level
	}
	level := "high"
	switch r.Effort {
	case "minimal", "low":
		level = "low"
	case "medium":
		level = "medium"
	}
	if level != r.Effort {
		e.plan.ApproximateEffort(r.Effort, level)
	}
	return level
}

// writeTools writes the tools. The API has no way to demand a call: where the client names tools, the others are left
// out, and where it forbids calls, all are.
func (e *encoding) writeTools() error {
	c := &e.Choice
	var able []int
	for i := range e.Tools {
		t := &e.Tools[i]
		switch {
		case t.Kind == sdk.ForeignTool:
			e.plan.LeaveTool(e.Request, i, "the API has no tool of type "+t.Type)
		case c.Mode != sdk.ChoiceNone && e.allowed(t):
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil
	}
	e.w.Name("tools").Array()
	for _, i := range able {
		if err := e.tool(&e.Tools[i], sdk.ToolPath(e.Tools, i)); err != nil {
			return err
		}
	}
	e.w.EndArray()
	if c.Mode == sdk.ChoiceRequired || c.Mode == sdk.ChoiceNamed || c.Mode == sdk.ChoiceAllowed && c.Required {
		e.plan.Lose("tool_choice", "the API cannot demand a call")
	}
	if string(c.Parallel.Raw()) == "false" {
		e.plan.Drop("parallel_tool_calls", "the API has no such switch")
	}
	return nil
}

func (e *encoding) allowed(t *sdk.Tool) bool {
	if e.Choice.Mode != sdk.ChoiceAllowed && e.Choice.Mode != sdk.ChoiceNamed {
		return true
	}
	name, _ := t.Name.Decoded()
	return slices.ContainsFunc(e.Choice.Names, func(n sdk.Text) bool { return n.Is(name) })
}

func (e *encoding) tool(t *sdk.Tool, path string) error {
	t = e.plan.AsFunction(t, path)
	if t.Name.Empty() {
		return &sdk.Invalid{Path: path + ".name", Message: "want a name"}
	}
	w := e.w
	w.Object()
	w.Name("type").String("function")
	w.Name("function").Object()
	w.Name("name").Text(t.Name)
	if !t.Description.Empty() {
		w.Name("description").Text(t.Description)
	}
	if raw := string(t.Parameters.Raw()); !t.Parameters.Held() && (raw == "" || raw == "{}") {
		w.Name("parameters").Raw(`{"type":"object","properties":{}}`)
	} else {
		w.Name("parameters").Value(t.Parameters)
	}
	w.EndObject()
	w.EndObject()
	return nil
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
