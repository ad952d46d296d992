package generation

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/relay"
)

// tokenBytes is about what a token takes of a stream, frame and all, at the least: what a drained answer costs is reckoned
// by it, and rather too high.
const tokenBytes = 64

// terms are those on which a deployment is asked: its model's own, else the configuration's.
func terms(cfg *config.Config, m *config.Model, prices price.List) relay.Terms {
	t := relay.Terms{
		Connect: cfg.Timeout.Connect, FirstContent: cfg.Timeout.FirstContent, Idle: cfg.Timeout.Idle,
		Commit: commit(cfg.Stream.Commit), HedgeAfter: m.Hedge, Continue: m.OnBreak == "continue",
		Cancel: cfg.Stream.Cancel, DrainTime: cfg.Stream.DrainLimit, DrainBytes: cfg.Stream.DrainBytes,
	}
	if most := prices.MostOutput(); most > 0 && cfg.Stream.DrainUSD > 0 {
		affordable := float64(cfg.Stream.DrainUSD) / float64(most) * 1e6 * tokenBytes
		t.DrainBytes = int64(min(affordable, float64(t.DrainBytes)))
	}
	if m.Commit != "" {
		t.Commit = commit(m.Commit)
	}
	onDisconnect(&t, m.OnDisconnect)
	return t
}

// onDisconnect makes drain or cancel a term; "" leaves it as it is.
func onDisconnect(t *relay.Terms, word string) {
	if word != "" {
		t.Cancel = word == "cancel"
	}
}

// planned are the terms that a policy's plan states; what it does not say stays as it is.
func planned(t *relay.Terms, p *policy.Plan) {
	t.Connect, t.FirstContent = cmp.Or(p.Connect, t.Connect), cmp.Or(p.FirstContent, t.FirstContent)
	t.Idle, t.HedgeAfter = cmp.Or(p.Idle, t.Idle), cmp.Or(p.Hedge, t.HedgeAfter)
	t.Refusals, t.Tries, t.Total = t.Refusals || p.Refusals, p.Tries, p.Total
	if p.OnBreak != "" {
		t.Continue, t.Prompt = p.OnBreak == "continue", p.Continuation
	}
	if p.Commit != "" {
		t.Commit = commit(p.Commit)
	}
	onDisconnect(t, p.OnDisconnect)
}

// commit reads a rule that the schema has checked.
func commit(rule string) relay.Commit {
	name, value, _ := strings.Cut(rule, ":")
	value = strings.TrimSpace(value)
	switch name {
	case "first_byte":
		return relay.Commit{Rule: relay.OnFirstByte}
	case "whole":
		return relay.Commit{Rule: relay.OnWhole}
	case "bytes":
		n, _ := strconv.ParseInt(value, 10, 64)
		return relay.Commit{Rule: relay.OnBytes, Bytes: n}
	case "time":
		d, _ := time.ParseDuration(value)
		return relay.Commit{Rule: relay.OnTime, After: d}
	}
	return relay.Commit{}
}
