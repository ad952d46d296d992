package anthropic

import (
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// minBudget is the smallest budget for thinking
// (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
const minBudget = 1024

// thought is how a model is asked to think.
type thought struct {
	mode   string // "" not at all, enabled, adaptive
	effort string
}

// think writes thinking.
//
// Models from 4.6 on decide themselves how long they think, and take an effort; those before take a budget of tokens
// (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking). Budgets and efforts are turned into each
// other by the shares of the output limit that OpenRouter documents
// (https://openrouter.ai/docs/use-cases/reasoning-tokens).
func (e *encoding) think() thought {
	r := &e.Reasoning
	if r.Effort == "none" || r.Mode == sdk.ReasoningOff || r.Mode == sdk.ReasoningUnset && r.Effort == "" && r.Budget == 0 {
		return thought{}
	}
	switch {
	case e.major > 0 && !e.atLeast(3, 7):
		e.plan.Drop("reasoning", "the model does not think")
		return thought{}
	case e.forced():
		e.plan.Drop("reasoning", "the model does not think where a tool call is forced")
		return thought{}
	case e.atLeast(4, 6):
		return e.adapt()
	}
	return e.budget()
}

func (e *encoding) adapt() thought {
	t := thought{mode: "adaptive", effort: e.effort()}
	e.w.Name("thinking").Object()
	e.w.Name("type").String(t.mode)
	e.display()
	e.w.EndObject()
	return t
}

// effort gives the effort in the model's words; "" leaves it to the model.
func (e *encoding) effort() string {
	r := &e.Reasoning
	switch r.Effort {
	case "":
		if r.Budget == 0 {
			return ""
		}
		effort := "high"
		switch part := r.Budget * 100 / e.maxTokens(); {
		case part <= 35:
			effort = "low"
		case part <= 65:
			effort = "medium"
		}
		e.plan.ApproximateBudget(r.Budget, "an effort of "+effort)
		return effort
	case "minimal":
		e.plan.ApproximateEffort("minimal", "low")
		return "low"
	case "xhigh":
		if !e.atLeast(4, 7) {
			e.plan.ApproximateEffort("xhigh", "high")
			return "high"
		}
	}
	return r.Effort
}

// budget asks for thinking with a budget, where there is room for one under the output limit. The limit is the client's
// and is not raised.
func (e *encoding) budget() thought {
	limit := e.maxTokens()
	if limit <= minBudget {
		e.plan.Drop("reasoning", "the output limit leaves no room for the least budget of 1024 tokens")
		return thought{}
	}
	if e.turns[len(e.turns)-1].assistant {
		e.plan.Drop("reasoning", "the model does not think where it goes on with the beginning of its answer")
		return thought{}
	}
	if e.lostThinking() {
		e.plan.Drop("reasoning", "the turn under way has lost its thinking, which cannot be made again")
		return thought{}
	}
	asked, effort := e.Reasoning.Budget, e.Reasoning.Effort
	n := asked
	if n == 0 {
		n = limit / 100 * percent(effort)
	}
	n = min(max(n, minBudget), limit-1)
	switch sent := "a budget of " + strconv.Itoa(n) + " tokens"; {
	case asked > 0 && asked != n:
		e.plan.ApproximateBudget(asked, sent)
	case asked == 0 && effort != "":
		e.plan.ApproximateEffort(effort, sent)
	}
	e.w.Name("thinking").Object()
	e.w.Name("type").String("enabled")
	e.w.Name("budget_tokens").Int(int64(n))
	e.display()
	e.w.EndObject()
	return thought{mode: "enabled"}
}

func percent(effort string) int {
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

// display says whether the client is shown what the model thinks. Budget models before 4.5 know no display.
func (e *encoding) display() {
	r := &e.Reasoning
	if !e.atLeast(4, 5) {
		return
	}
	switch show := string(r.Include.Raw()); {
	case r.Display != "":
		e.w.Name("display").String(r.Display)
	case show == "true", show == "" && r.Summary != "":
		e.w.Name("display").String("summarized")
	case show == "false":
		e.w.Name("display").String("omitted")
	}
}

// lostThinking says whether the turn under way, in which tools were called, does not begin with thinking. The API would
// refuse to think on, and a signature cannot be made up.
func (e *encoding) lostThinking() bool {
	n := len(e.turns)
	if n < 2 || len(e.turns[n-1].results) == 0 || len(e.turns[n-2].rest) == 0 {
		return false
	}
	first := e.turns[n-2].rest[0].Kind
	return first != sdk.PartThinking && first != sdk.PartRedacted
}
