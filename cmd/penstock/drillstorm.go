package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/plugins/demo"
)

// The storm of a drill: how often each way to ask is asked, and how many requests are under way.
const (
	stormTimes  = 32
	stormAtOnce = 32
)

// storm asks many times at once while the provider fails. All are served by others, the provider is asked no more often
// than there are requests and a fifth, which is the budget of retries, and it serves again once it is well.
func (d *drill) storm(ctx context.Context, f *demo.Fault) (drillResult, error) {
	r := drillResult{Name: f.Name, Verdict: passed, says: f.Says}
	config, err := d.plan.with(f)
	if err == nil {
		err = d.gateway.load(ctx, config)
	}
	if err != nil {
		return r, err
	}
	before, err := d.met(ctx, f)
	if err != nil {
		return r, err
	}
	began := time.Now()
	list := d.ask(ctx, f, stormTimes, stormAtOnce)
	for _, s := range list {
		if v := s.judge(f, drillTotal+slack); v.worse(r.Verdict) {
			r.Verdict, r.Saw = v, s.describe()
		}
		r.Millis = max(r.Millis, s.took.Milliseconds())
	}
	after, err := d.met(ctx, f)
	if err != nil {
		return r, err
	}
	n := after - before
	switch most := int64(len(list)) * 6 / 5; {
	case r.Verdict != passed:
		return r, ctx.Err()
	case n == 0:
		r.Verdict, r.Saw = failed, "the provider that misbehaves was not asked"
	case n > most:
		r.Verdict, r.Saw = failed, fmt.Sprintf("%d requests became %d attempts at the provider that fails", len(list), n)
	default:
		return d.recovered(ctx, f, began, r, fmt.Sprintf("%d requests had the right answer; the provider was asked %d times", len(list), n))
	}
	return r, ctx.Err()
}

// recovered waits until the provider whose storm began at a time serves again: that is due one interval of probes after the
// storm's end. The interval has doubled if there was a probe in the storm.
func (d *drill) recovered(ctx context.Context, f *demo.Fault, began time.Time, r drillResult, saw string) (drillResult, error) {
	due := began.Add(demo.StormTime + 2*drillOpen + d.usual + slack)
	for {
		for _, s := range d.ask(ctx, f, 1, 1) {
			if !s.right() {
				r.Verdict, r.Saw = failed, "after the storm, "+s.describe()
				return r, ctx.Err()
			}
		}
		b, err := d.backend(ctx, f)
		if err != nil {
			return r, err
		}
		now := time.Now()
		switch {
		case b.Phase == health.Closed && now.Sub(began) > demo.StormTime:
			r.Saw = saw + ", and serves again"
			return r, nil
		case now.After(due):
			r.Verdict, r.Saw = failed, fmt.Sprintf("%s; %v after its storm it is still %s", saw, now.Sub(began)-demo.StormTime, b.Phase)
			return r, nil
		}
	}
}

// backends are those of the gateway.
func (d *drill) backends(ctx context.Context) (list []admin.Backend, err error) {
	return list, d.gateway.admin(ctx, http.MethodGet, "/admin/v1/health", nil, &list)
}

// backend is the deployment that plays a fault.
func (d *drill) backend(ctx context.Context, f *demo.Fault) (admin.Backend, error) {
	list, err := d.backends(ctx)
	if err != nil {
		return admin.Backend{}, err
	}
	for _, b := range list {
		if strings.Contains(b.Name, "/"+demo.FaultModel+f.Name+" at ") {
			return b, nil
		}
	}
	return admin.Backend{}, fmt.Errorf("no deployment plays the fault %s", f.Name)
}

// met asks the provider itself how often a fault was met; nil: none is played.
func (d *drill) met(ctx context.Context, f *demo.Fault) (int64, error) {
	if f == nil {
		return 0, nil
	}
	b, err := d.backend(ctx, f)
	if err != nil {
		return 0, err
	}
	_, at, _ := strings.Cut(b.Name, " at ")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/faults", nil)
	if err != nil {
		return 0, err
	}
	client := newClient()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return 0, err
	}
	var counts map[string]int64
	if err := json.Unmarshal(text, &counts); err != nil {
		return 0, fmt.Errorf("the provider's counts: %v", err)
	}
	return counts[f.Name], nil
}

// pollEvery is how often the gateway or a provider is asked while something is waited for.
const pollEvery = 20 * time.Millisecond

// pause waits, or ends early with ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
