package bedrock

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// maker says whose model it is, and of Anthropic's which version: the members beside Converse's own go by it.
type maker struct {
	name         string // anthropic, amazon, openai, …; "" unknown, as in the ARN of an inference profile
	nova2        bool
	major, minor int // of a Claude
}

// makerOf reads a model's id, such as us.anthropic.claude-sonnet-4-5-20250929-v1:0: a number of one or two digits is of
// the version, one of more is a date.
func makerOf(model string) maker {
	var m maker
	for _, name := range []string{"anthropic", "amazon", "openai", "meta", "mistral", "deepseek", "cohere", "qwen"} {
		if strings.Contains(model, name+".") {
			m.name = name
		}
	}
	m.nova2 = strings.Contains(model, "amazon.nova-2")
	_, claude, _ := strings.Cut(model, "claude-")
	claude, _, _ = strings.Cut(claude, ":")
	found := false
	for part := range strings.SplitSeq(claude, "-") {
		n, err := strconv.Atoi(part)
		switch {
		case err == nil && len(part) <= 2 && found:
			m.minor = n
			return m
		case err == nil && len(part) <= 2:
			m.major, found = n, true
		case found:
			return m
		}
	}
	return m
}

func (m maker) claude() bool { return m.name == "anthropic" }

func (m maker) atLeast(major, minor int) bool {
	return m.major > major || m.major == major && m.minor >= minor
}

// caches says whether the model takes marks for caching
// (https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html).
func (m maker) caches() bool { return m.claude() || m.name == "amazon" }

// thought is how a model is asked to think.
type thought struct {
	on     bool
	budget int    // of a Claude before 4.6
	effort string // "" the model's own
}

// minBudget is the smallest budget for thinking
// (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
const minBudget = 1024

// thought reads the client's wish. Efforts and budgets are turned into each other by the shares of the output limit that
// OpenRouter documents (https://openrouter.ai/docs/use-cases/reasoning-tokens).
func (e *encoding) thought() thought {
	r := &e.Reasoning
	if r.Effort == "none" || r.Mode == sdk.ReasoningOff || r.Mode == sdk.ReasoningUnset && r.Effort == "" && r.Budget == 0 {
		return thought{}
	}
	limit := e.MaxOutput
	if limit == 0 {
		limit = e.DefaultMax
	}
	switch {
	case e.claude() && e.major > 0 && !e.atLeast(3, 7), !e.claude() && !e.nova2 && e.name != "openai":
		e.plan.Drop("reasoning", "the model is not known to think on demand")
		return thought{}
	case e.claude() && e.forced():
		e.plan.Drop("reasoning", "the model does not think where a tool call is forced")
		return thought{}
	case !e.claude() || e.atLeast(4, 6):
		return thought{on: true, effort: e.effort(limit)}
	case limit <= minBudget:
		e.plan.Drop("reasoning", "the output limit leaves no room for the least budget of 1024 tokens")
		return thought{}
	case e.turns[len(e.turns)-1].assistant:
		e.plan.Drop("reasoning", "the model does not think where it goes on with the beginning of its answer")
		return thought{}
	case e.lostThinking():
		e.plan.Drop("reasoning", "the turn under way has lost its thinking, which cannot be made again")
		return thought{}
	}
	n := r.Budget
	if n == 0 {
		n = limit / 100 * share(r.Effort)
	}
	n = min(max(n, minBudget), limit-1)
	switch sent := "a budget of " + strconv.Itoa(n) + " tokens"; {
	case r.Budget > 0 && r.Budget != n:
		e.plan.ApproximateBudget(r.Budget, sent)
	case r.Budget == 0 && r.Effort != "":
		e.plan.ApproximateEffort(r.Effort, sent)
	}
	return thought{on: true, budget: n}
}

// lostThinking says whether the turn under way, in which tools were called, does not begin with thinking: Claude would refuse
// to think on, and a signature cannot be made up.
func (e *encoding) lostThinking() bool {
	n := len(e.turns)
	if n < 2 || len(e.turns[n-1].results) == 0 || len(e.turns[n-2].rest) == 0 {
		return false
	}
	first := e.turns[n-2].rest[0].Kind
	return first != sdk.PartThinking && first != sdk.PartRedacted
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

// effort gives the effort in words that the model knows, and notes where it is not the client's.
func (e *encoding) effort(limit int) string {
	sent := e.nearest(limit)
	switch r := &e.Reasoning; {
	case r.Effort == "" && r.Budget > 0:
		e.plan.ApproximateBudget(r.Budget, "an effort of "+sent)
	case r.Effort != "" && r.Effort != sent:
		e.plan.ApproximateEffort(r.Effort, sent)
	}
	return sent
}

// nearest is the effort that comes nearest to what is asked; Claude from 4.7 on knows xhigh, and max from 4.6 on.
func (e *encoding) nearest(limit int) string {
	switch effort := e.Reasoning.Effort; {
	case effort == "" && e.Reasoning.Budget == 0 && e.claude():
		return ""
	case effort == "" && e.Reasoning.Budget == 0:
		return "medium"
	case effort == "" && e.Reasoning.Budget*100 <= 35*limit:
		return "low"
	case effort == "" && e.Reasoning.Budget*100 <= 65*limit:
		return "medium"
	case effort == "":
		return "high"
	case effort == "minimal":
		return "low"
	case effort == "low", effort == "medium", effort == "high":
		return effort
	case e.claude() && (effort == "max" || e.atLeast(4, 7)):
		return effort
	}
	return "high"
}

// forced says whether the model must call a tool.
func (e *encoding) forced() bool {
	c := &e.Choice
	return len(e.Tools) > 0 && (c.Mode == sdk.ChoiceRequired || c.Mode == sdk.ChoiceNamed || c.Mode == sdk.ChoiceAllowed && c.Required)
}

// additional writes the members that only the model's maker has: Anthropic's thinking, output_config and top_k
// (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html), Amazon's
// reasoningConfig (https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html), OpenAI's
// reasoning_effort (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html).
func (e *encoding) additional(t thought) {
	topK := e.TopK
	if topK.Present() && (!e.claude() || t.on || e.atLeast(4, 7)) {
		e.plan.Drop("top_k", "the model takes none here")
		topK = sdk.Value{}
	}
	if !t.on && !topK.Present() {
		return
	}
	w := e.w
	w.Name("additionalModelRequestFields").Object()
	switch {
	case !t.on:
	case e.nova2:
		w.Name("reasoningConfig").Object()
		w.Name("type").String("enabled")
		w.Name("maxReasoningEffort").String(t.effort)
		w.EndObject()
	case e.name == "openai":
		w.Name("reasoning_effort").String(t.effort)
	default:
		w.Name("thinking").Object()
		if t.budget > 0 {
			w.Name("type").String("enabled")
			w.Name("budget_tokens").Int(int64(t.budget))
		} else {
			w.Name("type").String("adaptive")
		}
		w.EndObject()
		if t.effort != "" {
			w.Name("output_config").Object()
			w.Name("effort").String(t.effort)
			w.EndObject()
		}
	}
	w.ValueMember("top_k", topK)
	w.EndObject()
}
