package route

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/sdk"
)

// Statistics is what policies know of all targets and models at a time: read and boxed once, and shared by all requests
// until the next. It does not change.
type Statistics struct {
	table   *Table
	at      time.Time
	targets []statistic // by the target's place
	models  *policy.Models
	listed  []policy.Model // in the catalogue's order
}

// statistic is one target's.
type statistic struct {
	measurement
	box *policy.BoxedTarget
}

// measurement is what changes of a target.
type measurement struct {
	health, quarantine, credential string
	stats                          health.Stats
}

// measured holds the newest statistics.
type measured struct {
	now atomic.Pointer[Statistics]
	mu  sync.Mutex // held by the one request that makes the next
}

// statisticsAge is how old statistics may be when a request takes them up.
const statisticsAge = 250 * time.Millisecond

// Statistics gives statistics that are not older than statisticsAge, or nearly so where another request is making them.
func (t *Table) Statistics(now time.Time) *Statistics {
	s := t.measured.now.Load()
	if len(t.backends) == 0 && !t.dated || now.Sub(s.at) < statisticsAge || !t.measured.mu.TryLock() {
		return s
	}
	defer t.measured.mu.Unlock()
	if s = t.measured.now.Load(); now.Sub(s.at) >= statisticsAge {
		s = t.measure(s, now)
		t.measured.now.Store(s)
	}
	return s
}

// measure makes statistics. Of those before it takes over what has not changed.
func (t *Table) measure(was *Statistics, now time.Time) *Statistics {
	s := &Statistics{table: t, at: now, targets: make([]statistic, len(t.targets))}
	changed, reports := was == nil, t.reports(now)
	for _, m := range t.catalog.Models {
		for _, one := range t.lists[m] {
			i := one.place
			got := one.measure(reports)
			if was != nil && was.targets[i].measurement == got && !one.Price.Turns(was.at, now) {
				s.targets[i] = was.targets[i]
				continue
			}
			changed = true
			s.targets[i] = statistic{got, policy.BoxTarget(got.describe(one.Deployment, now))}
		}
	}
	if !changed {
		s.listed, s.models = was.listed, was.models
		return s
	}
	s.listed = make([]policy.Model, len(t.catalog.Models))
	for i, m := range t.catalog.Models {
		s.listed[i] = describeModel(m, now)
		s.sum(&s.listed[i], t.lists[m])
	}
	s.models = policy.BoxModels(s.listed)
	return s
}

// reports reads all backends, each once. What fades away is rounded, so that it is not new each time.
func (t *Table) reports(now time.Time) []report {
	list := make([]report, len(t.backends))
	for i, b := range t.backends {
		r := report{b.Look(now), b.Stats(now)}
		r.stats.ErrorRate = math.Round(r.stats.ErrorRate*100) / 100
		list[i] = r
	}
	return list
}

// report is how a backend is.
type report struct {
	state health.State
	stats health.Stats
}

// measure brings together what is reported of the backends that a target hangs on.
func (one *target) measure(of []report) measurement {
	m := measurement{health: "up", credential: "ok"}
	if one.backend < 0 {
		return m
	}
	r := &of[one.backend]
	m.stats = r.stats
	switch {
	case !r.state.OK:
		m.health = "down"
	case r.state.Phase == health.HalfOpen:
		m.health = "probing"
	}
	if r.state.Phase == health.Quarantined {
		m.quarantine = r.state.Reason
	}
	m.credential = one.credential(of)
	return m
}

// credential says how the best of a target's accounts is.
func (one *target) credential(of []report) string {
	best := ""
	for _, account := range one.accounts {
		state := "ok"
		for _, place := range account {
			switch s := &of[place].state; {
			case s.OK:
			case s.Kind != sdk.UpstreamRate:
				state = "refused"
			case state == "ok":
				state = "limited"
			}
		}
		if state == "ok" {
			return state
		}
		if best != "limited" {
			best = state
		}
	}
	return cmp.Or(best, "ok")
}

// describe gives a target as policies see it.
func (m *measurement) describe(d *catalog.Deployment, now time.Time) *policy.Target {
	t := describeTarget(d, now)
	t.Health, t.Quarantine, t.Credential = m.health, m.quarantine, m.credential
	t.Latency, t.ErrorRate, t.InFlight = latencyOf(&m.stats), m.stats.ErrorRate, int(m.stats.InFlight)
	return t
}

func latencyOf(s *health.Stats) policy.Latency {
	return policy.Latency{P50: s.P50.Seconds(), P99: s.P99.Seconds(), TTFT: s.FirstContent.Seconds(), TokensPerSecond: s.TokensPerSecond}
}

// sum says of a model what its deployments have measured: how many are up, and the latency of the one that answers
// soonest and the error rate of the best among these.
func (s *Statistics) sum(m *policy.Model, list []*target) {
	m.Healthy = 0
	var fastest *health.Stats
	m.ErrorRate = 1
	for _, one := range list {
		t := &s.targets[one.place]
		if t.health == "down" {
			continue
		}
		m.Healthy++
		m.ErrorRate = min(m.ErrorRate, t.stats.ErrorRate)
		if t.stats.FirstContent > 0 && (fastest == nil || t.stats.FirstContent < fastest.FirstContent) {
			fastest = &t.stats
		}
	}
	if fastest != nil {
		m.Latency = latencyOf(fastest)
	}
}

// Models gives all models as policies see them.
func (s *Statistics) Models() *policy.Models { return s.models }

// Describe gives the models for which allows says yes as policies see them. It takes a while: keep the result for as long
// as the statistics are given out.
func (s *Statistics) Describe(allows func(name string) bool) *policy.Models {
	var list []policy.Model
	for i, m := range s.table.catalog.Models {
		if allows(m.Name) {
			list = append(list, s.listed[i])
		}
	}
	return policy.BoxModels(list)
}

// DescribeRequest gives what the facts and the time say of a request in a policy's terms. The key, the client and what
// else the facts do not hold are the caller's to add.
func DescribeRequest(f *dialect.Facts, dialectName string, at time.Time, seed uint64) *policy.Request {
	at = at.UTC()
	r := &policy.Request{
		Model: f.Model, Dialect: dialectName, Tokens: max(1, f.TextBytes/4), MaxOutput: f.MaxOutput, Inputs: []string{"text"}, Needs: f.Needs.Names(),
		Tools: f.Tools > 0, Structured: f.Needs&dialect.JSONSchema != 0, Stream: f.Stream, Effort: f.Effort,
		Hour: at.Hour(), Weekday: (int(at.Weekday()) + 6) % 7, Seed: seed,
	}
	if r.MaxOutput < 1 {
		r.MaxOutput = defaultOutput
	}
	for _, in := range [...]struct {
		need dialect.Need
		name string
	}{{dialect.Images, "image"}, {dialect.Audio, "audio"}, {dialect.Documents, "document"}} {
		if f.Needs&in.need != 0 {
			r.Inputs = append(r.Inputs, in.name)
		}
	}
	return r
}

func describeTarget(d *catalog.Deployment, now time.Time) *policy.Target {
	t := &policy.Target{Model: d.Name, Deployment: d.ID, Context: d.Context, MaxOutput: d.MaxOutput,
		Capabilities: d.Can.Names(), Tags: d.Tags, Weight: d.Weight, Health: "up", Credential: "ok"}
	if d.Provider != nil {
		t.Provider = d.Provider.ID
	}
	unknown := math.Inf(1)
	t.Price = policy.Price{Input: unknown, Output: unknown, CacheRead: unknown, CacheWrite: unknown}
	if p := rates(d, now); p != nil {
		t.Price = policy.Price{Input: usd(p.Input), Output: usd(p.Output), CacheRead: usd(p.CacheRead), CacheWrite: usd(p.CacheWrite)}
	}
	return t
}

func describeModel(m *catalog.Model, now time.Time) policy.Model {
	out := policy.Model{Name: m.Name, Tags: slices.Clone(m.Tags), Price: math.Inf(1), Deployments: len(m.Deployments), Healthy: len(m.Deployments)}
	var can dialect.Need
	for _, d := range m.Deployments {
		can |= d.Can
		out.Context, out.MaxOutput = max(out.Context, d.Context), max(out.MaxOutput, d.MaxOutput)
		out.Price = min(out.Price, blended(d, now)/4/1e9)
		for _, tag := range d.Tags {
			if !slices.Contains(out.Tags, tag) {
				out.Tags = append(out.Tags, tag)
			}
		}
	}
	out.Capabilities = can.Names()
	return out
}

// Warmth remembers which deployments have how much of a conversation in their prompt cache. The zero Warmth is ready.
type Warmth struct {
	mu         sync.Mutex // guards what follows
	young, old map[string][]warm
	turned     time.Time
}

// warm is what one deployment has of a conversation.
type warm struct {
	deployment string
	tokens     int64
	at         time.Time
}

const (
	warmFor      = 5 * time.Minute // the shortest that providers keep a prompt (https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching)
	mostSessions = 50_000          // that are remembered, twice at the most
	mostWarm     = 4               // deployments of one conversation
)

// Note takes note of the tokens of a conversation that a deployment has said to have cached.
func (w *Warmth) Note(session, deployment string, tokens int64, now time.Time) {
	if tokens <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.young) >= mostSessions || now.Sub(w.turned) > warmFor {
		w.young, w.old, w.turned = map[string][]warm{}, w.young, now
	}
	list, fresh := w.young[session]
	if !fresh {
		list = w.old[session]
	}
	kept := []warm{{deployment, tokens, now}}
	for _, one := range list {
		if one.deployment != deployment && len(kept) < mostWarm && now.Sub(one.at) < warmFor {
			kept = append(kept, one)
		}
	}
	w.young[session] = kept
}

// Of gives the share of an input of so many tokens, 0 to 1, that deployments are expected to have cached; nil where none is.
func (w *Warmth) Of(session string, tokens int, now time.Time) map[string]float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, fresh := w.young[session]
	if !fresh {
		list = w.old[session]
	}
	var shares map[string]float64
	for _, one := range list {
		if now.Sub(one.at) >= warmFor {
			continue
		}
		if shares == nil {
			shares = make(map[string]float64, len(list))
		}
		shares[one.deployment] = min(1, float64(one.tokens)/float64(max(tokens, 1)))
	}
	return shares
}

// Holder has what a request may continue: an answer that one account alone knows of.
type Holder struct{ Provider, Credential string }

// Holders remembers who has which answers. The zero Holders is ready.
type Holders struct {
	mu         sync.Mutex // guards what follows
	young, old map[answerID]Holder
	turned     time.Time
}

// answerID is the hash of a key's name and an answer's id, which may be of any length.
type answerID [sha256.Size]byte

func answerOf(key, id string) answerID { return sha256.Sum256([]byte(key + "\x00" + id)) }

const (
	heldFor  = 24 * time.Hour // at least, where there is room: providers keep an answer for 30 days, conversations end sooner
	mostHeld = 50_000         // answers that are remembered, twice at the most
)

// Note takes note of an answer of a key's.
func (h *Holders) Note(key, id string, by Holder, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.young) >= mostHeld || now.Sub(h.turned) > heldFor {
		h.young, h.old, h.turned = map[answerID]Holder{}, h.young, now
	}
	h.young[answerOf(key, id)] = by
}

// Of gives who has an answer of a key's; false where nobody remembers.
func (h *Holders) Of(key, id string) (by Holder, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer := answerOf(key, id)
	if by, ok = h.young[answer]; !ok {
		by, ok = h.old[answer]
	}
	return by, ok
}
