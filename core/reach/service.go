package reach

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/h1"
)

// How addresses are measured and chosen.
const (
	measureEvery = time.Minute            // with a tenth of jitter
	firstRetry   = time.Second            // of an address that could not be reached; doubled up to measureEvery
	weight       = 0.3                    // that one measurement has in the distance
	nearer       = 0.8                    // of the distance of the address in use is what another has to have,
	nearerBy     = 500 * time.Microsecond // and this much less, to be used in its place
)

// Service is a provider's service at several addresses. Requests go to the nearest that can be reached, by the time that a
// TCP connect takes; another is chosen when it is a fifth nearer, or when the present one cannot be reached.
type Service struct {
	provider string
	path     string // of the base that targets are made for
	log      *slog.Logger
	chosen   atomic.Pointer[address]
	due      chan struct{} // holds a token when there is something to be measured earlier than was thought

	mu        sync.Mutex // guards the addresses' measurements
	addresses []*address // as configured
}

// address is one of a service's.
type address struct {
	base *url.URL
	path string // of base, without the last slash
	pool *h1.Pool
	free func()

	distance h1.Distance // smoothed; zero: not measured yet
	failures int         // in a row
	failed   time.Time   // the last
	why      string
	next     time.Time // when it is measured
}

func (n *Network) newService(provider string, bases []*url.URL, o Options) (*Service, error) {
	s := &Service{provider: provider, path: strings.TrimRight(bases[0].Path, "/"), log: n.Log, due: make(chan struct{}, 1)}
	for _, b := range bases {
		pool, free, err := n.Pool(b, o)
		if err != nil {
			s.close()
			return nil, err
		}
		s.addresses = append(s.addresses, &address{base: b, path: strings.TrimRight(b.Path, "/"), pool: pool, free: free})
	}
	s.chosen.Store(s.addresses[0])
	return s, nil
}

func (s *Service) close() {
	for _, a := range s.addresses {
		a.free()
	}
}

// Place gives where a request goes now, whose target is one for the first base.
func (s *Service) Place(target string) Place {
	a := s.chosen.Load()
	return Place{Pool: a.pool, Base: a.base, Target: a.path + strings.TrimPrefix(target, s.path)}
}

// Unreached takes note of a place that could not be reached, and says whether there is another that may be.
func (s *Service) Unreached(p Place, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.addresses {
		if a.base == p.Base {
			s.fail(a, err, time.Now())
		}
	}
	s.choose()
	select {
	case s.due <- struct{}{}:
	default:
	}
	return s.chosen.Load().failures == 0
}

// fail takes note of a failure. The service is locked.
func (s *Service) fail(a *address, err error, now time.Time) {
	if a.failures > 0 && now.Before(a.next) {
		return // it is known, and will be looked into
	}
	wait := jitter(min(firstRetry<<min(a.failures, 6), measureEvery))
	a.failures++
	a.failed, a.next, a.why = now, now.Add(wait), cause(err)
	if a.failures == 1 {
		s.log.Warn("address: cannot be reached", "provider", s.provider, "address", a.base.String(), "error", a.why)
	}
}

// cause gives what stands behind a call's own words.
func cause(err error) string {
	var call *h1.CallError
	if errors.As(err, &call) {
		return call.Phase + ": " + call.Err.Error()
	}
	return err.Error()
}

// measured takes note of a measurement.
func (s *Service) measured(a *address, far h1.Distance, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fail(a, err, now)
		s.choose()
		return
	}
	if a.failures > 0 {
		s.log.Info("address: reached again", "provider", s.provider, "address", a.base.String(), "after", now.Sub(a.failed).Round(time.Millisecond))
	}
	a.failures, a.why, a.next = 0, "", now.Add(jitter(measureEvery))
	a.distance = h1.Distance{Connect: smooth(a.distance.Connect, far.Connect), TLS: smooth(a.distance.TLS, far.TLS)}
	s.choose()
}

func smooth(old, now time.Duration) time.Duration {
	if old == 0 {
		return max(now, 1) // 0 is not measured
	}
	return old + time.Duration(weight*float64(now-old))
}

func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// better says whether requests go rather to a than to b; inUse: they go to b now.
func better(a, b *address, inUse bool) bool {
	far, than := a.distance.Connect, b.distance.Connect
	switch {
	case (a.failures == 0) != (b.failures == 0):
		return a.failures == 0
	case a.failures > 0:
		return a.failed.Before(b.failed) // none can be reached: perhaps the one that failed longest ago can again
	case far == 0 || than == 0:
		return far > 0 && !inUse // what is not known is not farther
	case inUse:
		return float64(far) <= nearer*float64(than) && than-far >= nearerBy
	}
	return far < than
}

// choose takes the address that requests go to. The service is locked.
func (s *Service) choose() {
	now := s.chosen.Load()
	best := now
	for _, a := range s.addresses {
		if a != best && better(a, best, best == now) {
			best = a
		}
	}
	if best == now {
		return
	}
	s.chosen.Store(best)
	s.log.Info("address: chosen", "provider", s.provider, "address", best.base.String(), "connect", best.distance.Connect, "before", now.base.String())
}

// keepMeasured measures the addresses until ctx ends.
func (s *Service) keepMeasured(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var all sync.WaitGroup
		list, next := s.toMeasure(time.Now())
		for _, a := range list {
			all.Go(func() {
				far, err := a.pool.Measure(ctx)
				if ctx.Err() == nil {
					s.measured(a, far, err, time.Now())
				}
			})
		}
		all.Wait()
		if len(list) > 0 {
			_, next = s.toMeasure(time.Time{})
		}
		timer.Reset(time.Until(next))
		select {
		case <-timer.C:
		case <-s.due:
		case <-ctx.Done():
			return
		}
	}
}

// toMeasure gives the addresses that are to be measured by now, and when the next is.
func (s *Service) toMeasure(now time.Time) (list []*address, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.addresses {
		if !a.next.After(now) {
			list = append(list, a)
		}
		if next.IsZero() || a.next.Before(next) {
			next = a.next
		}
	}
	return list, next
}

// State is how one address of a provider is.
type State struct {
	Provider string
	Base     string
	Chosen   bool // requests go there
	Distance h1.Distance
	Why      string    // it cannot be reached; "": it can, as far as is known
	Next     time.Time // when it is measured
}

// states lists the addresses.
func (s *Service) states() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]State, 0, len(s.addresses))
	for _, a := range s.addresses {
		list = append(list, State{Provider: s.provider, Base: a.base.String(), Chosen: a == s.chosen.Load(), Distance: a.distance, Why: a.why, Next: a.next})
	}
	return list
}
