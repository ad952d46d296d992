package route

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/policy"
	"github.com/penstock-gateway/penstock/core/price"
	"github.com/penstock-gateway/penstock/core/store"
)

// A decision of a router is kept as plain data, so that it can be shown as it was made, and made again by other policies:
// what was seen of the catalogue (Picture, shared by many), what the request was (Input), and what came of it (Explanation).

// Picture is a catalogue under statistics.
type Picture struct {
	Models   []PictureModel `json:"models"`
	Disabled []string       `json:"disabled,omitempty"` // by the configuration
}

// PictureModel is a model in a picture.
type PictureModel struct {
	Name     string           `json:"name"`
	Strategy catalog.Strategy `json:"strategy,omitempty"`
	Tags     []string         `json:"tags,omitempty"`
	Targets  []PictureTarget  `json:"targets"`
}

// PictureTarget is a deployment in a picture. Weight, limits and abilities are as in catalog.Deployment.
type PictureTarget struct {
	ID         string       `json:"id"`
	Provider   string       `json:"provider"`
	Weight     int          `json:"weight"`
	Context    int          `json:"context"`
	MaxOutput  int          `json:"max_output"`
	Can        dialect.Need `json:"can"`
	Price      *price.Rates `json:"price,omitempty"` // of a usual request, at the time
	Tags       []string     `json:"tags,omitempty"`
	Health     string       `json:"health"`
	Quarantine string       `json:"quarantine,omitempty"`
	Credential string       `json:"credential"`
	Stats      health.Stats `json:"stats,omitzero"`
}

// Input is a request as routing saw it. It holds no text of the conversation.
type Input struct {
	Name        string                         `json:"name"`
	Also        []string                       `json:"also,omitempty"`
	Needs       dialect.Need                   `json:"needs,omitempty"`
	TextBytes   int                            `json:"text_bytes,omitempty"`
	Preferences *Preferences                   `json:"preferences,omitempty"`
	Seed        uint64                         `json:"seed"`
	At          time.Time                      `json:"at"`
	Allowed     []string                       `json:"allowed,omitempty"` // names that the key may use; nil: all
	Off         map[string]store.DisabledModel `json:"off,omitempty"`     // by operators
	Backends    map[string]Seen                `json:"backends,omitempty"`
	Request     *policy.Request                `json:"request"`
	Warm        map[string]float64             `json:"warm,omitempty"`
	Loses       map[string][]string            `json:"loses,omitempty"`  // by deployment, where a policy read it
	Timely      bool                           `json:"timely,omitempty"` // a policy ran out of time: made again, the decision may be another
}

// Seen is what the request itself read of a target's backends, where that tells more than the statistics.
type Seen struct {
	Stage string        `json:"stage,omitempty"` // that refused it: health, quarantine or credential
	State *health.State `json:"state,omitempty"`
	Cost  *float64      `json:"cost,omitempty"` // of health.Load; nil where it is infinite or was not read
	Busy  bool          `json:"busy,omitempty"` // the cost is infinite
	Speed float64       `json:"speed,omitempty"`
	Well  bool          `json:"well,omitempty"` // and the statistics say that it is down
	Why   string        `json:"why,omitempty"`  // it cannot be asked with credentials of the caller's own
}

// Capture is a decision that is to be kept, taken on the request's way in no time to speak of; its methods take longer and
// belong elsewhere.
type Capture struct {
	Router     string
	At         time.Time
	Statistics *Statistics // those that policies saw

	table    *Table
	q        Request
	needs    dialect.Need
	text     int
	allows   func(string) bool
	req      *policy.Request
	loses    map[string][]string
	off      map[string]store.DisabledModel
	backends map[string]Seen
	decision Decision
}

// Capture takes the decision that Expand has just made of q; nil where no policy was asked. It keeps allows, which is asked
// later, and what the caller's Describe gave.
func (d *Decision) Capture(q *Request, allows func(name string) bool) *Capture {
	x := &d.expansion
	if x.req == nil || x.stats == nil {
		return nil
	}
	c := &Capture{Router: d.Router, At: q.Now, Statistics: x.stats, table: x.table, q: *q, needs: q.Facts.Needs, text: q.Facts.TextBytes, allows: allows,
		req: x.req, loses: x.losses.by, off: x.disabled, decision: Decision{Router: d.Router, Branches: slices.Clone(d.Branches), Candidates: slices.Clone(d.Candidates),
			Plans: slices.Clone(d.Plans), Skips: slices.Clone(d.Skips), Failures: slices.Clone(d.Failures), Steps: d.Steps, Err: d.Err}}
	c.q.Facts, c.q.Caller, c.q.Accounts = nil, nil, nil
	if len(x.table.backends) > 0 || q.Accounts != nil {
		c.backends = map[string]Seen{}
		for t, one := range x.table.targets {
			if s := d.wave.seen(one, x.stats, q.Now); s != (Seen{}) {
				c.backends[t.ID] = s
			}
		}
	}
	return c
}

// seen gives what this request has read of a target; nothing where that is as the statistics have it.
func (w *wave) seen(t *target, in *Statistics, now time.Time) Seen {
	own := w.own(t)
	s := Seen{Why: own.why}
	watched := t.backend >= 0 && w.readings[t.backend].request == w.request
	if !watched && own.bad == nil {
		return s
	}
	if stage, state := w.ill(t); state != nil {
		kept := *state
		kept.Until = now.Round(0).Add(state.Until.Sub(now)) // on the wall clock as far away as on the one that it was read from
		s.Stage, s.State = stage, &kept
	}
	if !watched {
		return s
	}
	s.Well = s.State == nil && in.targets[t.place].health == "down"
	if r := &w.readings[t.backend]; r.loaded {
		if s.Speed = r.load.Speed; math.IsInf(r.load.Cost, 1) {
			s.Busy = true
		} else {
			cost := r.load.Cost
			s.Cost = &cost
		}
	}
	return s
}

// Input gives the request.
func (c *Capture) Input() *Input {
	return &Input{Name: c.q.Name, Also: c.q.Also, Needs: c.needs, TextBytes: c.text, Preferences: c.q.Preferences, Seed: c.q.Seed, At: c.q.Now.Round(0).UTC(),
		Allowed: c.table.allowed(c.allows, c.off), Off: c.off, Backends: c.backends, Request: c.req, Warm: c.q.Warm, Loses: c.loses, Timely: c.timely()}
}

// timely says whether the decision hung on more than what was seen.
func (c *Capture) timely() bool {
	ran := func(err error) bool {
		var e *policy.Error
		return errors.Is(err, ErrQuarantined) || errors.As(err, &e) && e.Kind == policy.Time
	}
	return ran(c.decision.Err) || slices.ContainsFunc(c.decision.Failures, func(f Failure) bool { return ran(f.Err) })
}

// Routers gives the routers of the table, in the configuration's order.
func (c *Capture) Routers() []*Router { return c.table.order }

// Shadowed says whether a router that may have taken part has a shadow.
func (c *Capture) Shadowed() bool { return c.table.Shadowed() }

// Explanation gives the decision.
func (c *Capture) Explanation(generation int64, took time.Duration) *Explanation {
	return c.decision.Explain(generation, took)
}

// allowed lists the names that a key may use; nil where it may use all.
func (t *Table) allowed(allows func(string) bool, off map[string]store.DisabledModel) []string {
	list, all := []string{}, true
	try := func(name string) {
		if allows(name) {
			list = append(list, name)
		} else {
			all = false
		}
	}
	for _, r := range t.order {
		try(r.Name)
	}
	for _, m := range t.catalog.Models {
		try(m.Name)
		for _, d := range m.Deployments {
			try(d.ID)
		}
	}
	for name := range t.disabled {
		try(name)
	}
	for name := range off {
		try(name)
	}
	if all {
		return nil
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Picture gives the catalogue as these statistics show it.
func (s *Statistics) Picture() *Picture {
	p := &Picture{Models: make([]PictureModel, len(s.table.catalog.Models))}
	for name := range s.table.disabled {
		p.Disabled = append(p.Disabled, name)
	}
	slices.Sort(p.Disabled)
	for i, m := range s.table.catalog.Models {
		to := &p.Models[i]
		to.Name, to.Strategy, to.Tags, to.Targets = m.Name, m.Strategy, m.Tags, make([]PictureTarget, len(m.Deployments))
		for j, d := range m.Deployments {
			got := &s.targets[s.table.targets[d].place]
			to.Targets[j] = PictureTarget{ID: d.ID, Weight: d.Weight, Context: d.Context, MaxOutput: d.MaxOutput, Can: d.Can, Price: rates(d, s.at), Tags: d.Tags,
				Health: got.health, Quarantine: got.quarantine, Credential: got.credential, Stats: got.stats}
			if d.Provider != nil {
				to.Targets[j].Provider = d.Provider.ID
			}
		}
	}
	return p
}

// Replayer makes decisions again, under one picture. It is for one goroutine at a time.
type Replayer struct {
	table *Table
	stood map[string]*standIn // by target
}

// standIn stands for the backends of a target as they were.
type standIn struct {
	usual, state health.State
	load         health.Load
}

// Ready implements Backend, as do the others.
func (b *standIn) Ready(time.Time) bool         { return b.state.OK }
func (b *standIn) Look(time.Time) health.State  { return b.state }
func (b *standIn) Load(time.Time) health.Load   { return b.load }
func (b *standIn) Stats(time.Time) health.Stats { return health.Stats{} }

// forever is after all times that are looked at.
var forever = time.Unix(1<<40, 0)

// NewReplayer makes one for some routers.
func NewReplayer(p *Picture, routers []*Router) *Replayer {
	r := &Replayer{stood: map[string]*standIn{}}
	o := Options{Routers: routers, Disabled: p.Disabled, Health: map[*catalog.Deployment]Watch{}, Workers: Single}
	var models []*catalog.Model
	measured := map[*catalog.Deployment]measurement{}
	providers := map[string]*catalog.Provider{}
	for i := range p.Models {
		from := &p.Models[i]
		m := &catalog.Model{Name: from.Name, Strategy: from.Strategy, Tags: from.Tags}
		for j := range from.Targets {
			t := &from.Targets[j]
			if providers[t.Provider] == nil {
				providers[t.Provider] = &catalog.Provider{ID: t.Provider}
			}
			d := &catalog.Deployment{ID: t.ID, Name: from.Name, Provider: providers[t.Provider], Weight: t.Weight, Context: t.Context, MaxOutput: t.MaxOutput,
				Can: t.Can, Tags: t.Tags}
			if t.Price != nil {
				d.Price = price.Flat(*t.Price)
			}
			m.Deployments = append(m.Deployments, d)
			measured[d] = measurement{t.Health, t.Quarantine, t.Credential, t.Stats}
			backend, account := r.stand(t.ID, t.Health), r.stand(accountOf+t.ID, "up")
			o.Health[d] = Watch{Deployment: backend, Accounts: []Account{{account}}}
		}
		models = append(models, m)
	}
	o.Catalog = catalog.New(models)
	r.table = NewTable(o)
	r.table.off = new(Disabled)
	r.table.show(measured)
	return r
}

// accountOf begins the name of the stand-in for a target's accounts.
const accountOf = "account of "

// stand makes a stand-in. What the request itself did not look at is as the statistics have it.
func (r *Replayer) stand(name, as string) *standIn {
	b := &standIn{usual: health.State{OK: true, Phase: health.Closed}}
	if as == "down" {
		b.usual = health.State{Phase: health.Open, Reason: "failures before", Until: forever}
	}
	r.stood[name] = b
	return b
}

// show puts statistics into force that are never made anew.
func (t *Table) show(measured map[*catalog.Deployment]measurement) {
	s := &Statistics{table: t, at: forever, targets: make([]statistic, len(t.targets)), listed: make([]policy.Model, len(t.catalog.Models))}
	for d, one := range t.targets {
		m := measured[d]
		s.targets[one.place] = statistic{m, policy.BoxTarget(m.describe(d, s.at))}
	}
	for i, m := range t.catalog.Models {
		s.listed[i] = describeModel(m, s.at)
		s.sum(&s.listed[i], t.lists[m])
	}
	s.models = policy.BoxModels(s.listed)
	t.measured.now.Store(s)
}

// Decide makes a decision again. Its error and what is decided are as Expand's.
func (r *Replayer) Decide(ctx context.Context, in *Input, keepPrints bool, into *Decision) error {
	for _, b := range r.stood {
		b.state, b.load = b.usual, health.Load{}
	}
	for id, s := range in.Backends {
		backend, account := r.stood[id], r.stood[accountOf+id]
		if backend == nil {
			continue
		}
		switch {
		case s.State != nil && s.Stage == "credential":
			backend.state, account.state = health.State{OK: true, Phase: health.Closed}, *s.State
		case s.State != nil:
			backend.state = *s.State
		case s.Well:
			backend.state = health.State{OK: true, Phase: health.Closed}
		}
		backend.load.Speed = s.Speed
		switch {
		case s.Busy:
			backend.load.Cost = math.Inf(1)
		case s.Cost != nil:
			backend.load.Cost = *s.Cost
		}
	}
	r.table.off.set.Store(&in.Off)
	q := &Request{Name: in.Name, Also: in.Also, Facts: &dialect.Facts{Needs: in.Needs, TextBytes: in.TextBytes}, Caller: &replayed{in},
		Preferences: in.Preferences, Seed: in.Seed, Now: in.At, Warm: in.Warm, KeepPrints: keepPrints}
	for _, s := range in.Backends {
		if s.Why != "" {
			q.Accounts = in.accounts
		}
	}
	return r.table.Expand(ctx, q, into)
}

// accounts gives why a deployment could not be asked with credentials of the caller's own.
func (in *Input) accounts(d *catalog.Deployment) ([]Account, string) {
	return nil, in.Backends[d.ID].Why
}

// replayed is the caller of a request that was.
type replayed struct{ *Input }

// Allows implements Caller, as do the others.
func (c *replayed) Allows(name string) bool {
	return c.Allowed == nil || slices.Contains(c.Allowed, name)
}

func (c *replayed) Models(s *Statistics) *policy.Models {
	if c.Allowed == nil {
		return s.Models()
	}
	return s.Describe(c.Allows)
}

func (c *replayed) Describe() *policy.Request { return c.Request }

// Loses implements Translator.
func (c *replayed) Loses(d *catalog.Deployment) []string { return c.Input.Loses[d.ID] }
