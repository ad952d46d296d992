package gateway

import (
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

func TestNoTarget(t *testing.T) {
	skip := func(stage, reason string) route.Skip {
		return route.Skip{Deployment: "m/p", Stage: stage, Reason: reason}
	}
	tests := []struct {
		name  string
		skips []route.Skip
		kind  sdk.Kind
		param string
	}{
		{"none", nil, sdk.NoTarget, ""},
		{"too long for all", []route.Skip{skip("context", "about 9"), skip("context", "about 9")}, sdk.ContextTooLong, ""},
		{"beyond all", []route.Skip{skip("capabilities", "no images"), skip("capabilities", "no n")}, sdk.CannotTranslate, ""},
		{"several answers", []route.Skip{skip("capabilities", "no n"), skip("capabilities", "no n")}, sdk.CannotTranslate, "n"},
		{"log probabilities", []route.Skip{skip("capabilities", "no logprobs")}, sdk.CannotTranslate, "logprobs"},
		{"one that is down might", []route.Skip{skip("capabilities", "no n"), skip("health", "open")}, sdk.NoTarget, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := noTarget("m", &route.Decision{Skips: test.skips}, time.Now())
			if f.Kind != test.kind || f.Param != test.param {
				t.Errorf("kind %v, param %q, want %v, %q", f.Kind, f.Param, test.kind, test.param)
			}
		})
	}
}
