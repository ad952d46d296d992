package openai

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// reasoning writes reasoning_effort.
//
// A budget of tokens becomes an effort by its share of the output limit: up to 35% is low, up to 65% medium, more is
// high. These lie between the shares that OpenRouter documents for turning efforts into budgets: low 20%, medium 50%,
// high 80% (https://openrouter.ai/docs/use-cases/reasoning-tokens). Without a limit the bounds are 4,096 and 16,384
// tokens.
func (e *encoding) reasoning() {
	r := &e.Reasoning
	effort := r.Effort
	switch {
	case effort != "":
	case r.Mode == sdk.ReasoningOff:
		effort = e.noEffort()
	case r.Budget > 0:
		effort = share(r.Budget, e.MaxOutput)
	case r.Mode == sdk.ReasoningOn:
		effort = "medium"
	}
	e.w.StringMember("reasoning_effort", effort)
}

// noEffort is how a model is told not to reason, "" where it needs no telling. Models before GPT-5.1 that reason always
// do (https://platform.openai.com/docs/api-reference/chat/create, reasoning_effort).
func (e *encoding) noEffort() string {
	if e.compatible {
		return ""
	}
	switch {
	case strings.HasPrefix(e.Model, "gpt-5."):
		return "none"
	case strings.HasPrefix(e.Model, "gpt-5"):
		e.plan.Drop(e.member("reasoning"), "the model reasons always: its least effort is asked for")
		return "minimal"
	case len(e.Model) > 1 && e.Model[0] == 'o' && e.Model[1] >= '1' && e.Model[1] <= '9':
		e.plan.Drop(e.member("reasoning"), "the model reasons always: its least effort is asked for")
		return "low"
	}
	return ""
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
