package reach

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Upkeep is what is done for a provider beside its requests.
type Upkeep struct {
	Provider string
	Place    func(target string) Place // where requests go now
	Service  *Service                  // whose addresses are measured; nil: it has one alone
	Ready    int                       // connections that are kept ready where requests go
	Probe    Probe
}

// moveEvery is how often it is seen whether requests go elsewhere than connections are kept ready.
const moveEvery = 2 * time.Second

// mostProbes bounds the probes that are under way at once.
const mostProbes = 8

// attendant does a provider's upkeep.
type attendant struct {
	network *Network
	upkeep  atomic.Pointer[Upkeep]
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
}

// Attend does the upkeep of the providers of the generation that is now in force, and no other. What is the same as before
// goes on without a break. It waits for what ends.
func (n *Network) Attend(list []Upkeep) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.slots == nil {
		n.slots, n.attendants = make(chan struct{}, mostProbes), map[string]*attendant{}
	}
	now := map[string]*attendant{}
	for i := range list {
		u := &list[i]
		if a := n.attendants[u.Provider]; a != nil && u.same(a.upkeep.Load()) {
			a.upkeep.Store(u)
			now[u.Provider] = a
		}
	}
	var ending sync.WaitGroup
	for id, a := range n.attendants {
		if now[id] == nil {
			ending.Go(a.end)
		}
	}
	ending.Wait()
	for i := range list {
		if u := &list[i]; now[u.Provider] == nil && u.anything() {
			now[u.Provider] = n.begin(u)
		}
	}
	n.attendants = now
}

// same says whether only what is read anew each time differs.
func (u *Upkeep) same(o *Upkeep) bool {
	return u.Service == o.Service && u.Ready == o.Ready && u.Probe.Every == o.Probe.Every
}

func (u *Upkeep) anything() bool { return u.Service != nil || u.Ready > 0 || u.Probe.Every > 0 }

func (n *Network) begin(u *Upkeep) *attendant {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attendant{network: n, cancel: cancel}
	a.upkeep.Store(u)
	if u.Service != nil {
		a.tasks.Go(func() { u.Service.keepMeasured(ctx) })
	}
	if u.Ready > 0 {
		a.tasks.Go(func() { a.keepReady(ctx) })
	}
	if u.Probe.Every > 0 {
		a.tasks.Go(func() { a.keepProbing(ctx) })
	}
	return a
}

func (a *attendant) end() {
	a.cancel()
	a.tasks.Wait()
}

// keepReady keeps connections ready where requests go, until ctx ends.
func (a *attendant) keepReady(ctx context.Context) {
	look := time.NewTicker(moveEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		u := a.upkeep.Load()
		pool := u.Place("").Pool
		here, leave := context.WithCancel(ctx)
		var keeping sync.WaitGroup
		keeping.Go(func() { pool.KeepReady(here, u.Ready) })
		for ctx.Err() == nil && a.upkeep.Load().Place("").Pool == pool {
			select {
			case <-look.C:
			case <-ctx.Done():
			}
		}
		leave()
		keeping.Wait()
	}
}

// Addresses tells how the addresses of providers are that have several, by provider, as configured.
func (n *Network) Addresses() []State {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []State
	for _, a := range n.attendants {
		if s := a.upkeep.Load().Service; s != nil {
			list = append(list, s.states()...)
		}
	}
	slices.SortStableFunc(list, func(x, y State) int { return cmp.Compare(x.Provider, y.Provider) })
	return list
}
