package limits

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// A server that was restarted may know less than it did: its memory is that of its last snapshot, or nothing. It has another
// run id then (INFO server), so a level says which run it was last counted in; what was spent in its period is asked of the
// ledger anew in each, and the gateways count the requests that they have under way again.

// runs gives the run ids of the servers, of all in a cluster; "" where a server does not tell: its restarts are not noticed.
func runs(ctx context.Context, c valkey.Client, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var ids []string
	for _, node := range c.Nodes() {
		text, err := node.Do(ctx, node.B().Info().Section("server").Build()).ToString()
		if _, refused := valkey.IsValkeyErr(err); err != nil && !refused {
			return "", err
		}
		_, id, _ := strings.Cut(text, "\nrun_id:")
		id, _, _ = strings.Cut(id, "\r")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, " "), nil
}

// run is the run of the server as it was last seen.
func (s *Shared) run() string {
	if p := s.link.serving.Load(); p != nil {
		return *p
	}
	return ""
}

// look notes whether the server has begun another run, and counts there again what is under way.
func (s *Shared) look(ctx context.Context, now time.Time) {
	s.seen(ctx, now) // where that fails the next round comes
}

func (s *Shared) seen(ctx context.Context, now time.Time) (err error) {
	s.link.doubted.Store(false)
	defer func() {
		if err != nil {
			s.link.doubted.Store(true)
		}
	}()
	var run string
	_, err = s.link.call(ctx, func(ctx context.Context, c valkey.Client) (err error) {
		run, err = runs(ctx, c, s.link.wait)
		return err
	})
	if err != nil {
		return err
	}
	old := s.link.serving.Swap(&run)
	if *old == run {
		return nil
	}
	s.log.Warn("counters: the server was restarted: what was spent is asked of the ledger")
	if err = s.again(ctx, run, now); err != nil {
		s.link.serving.Store(old)
	}
	return err
}

// again counts the holds that are open in a new run. Meanwhile none ends: one that had would be counted for as long as its
// lease.
func (s *Shared) again(ctx context.Context, run string, now time.Time) error {
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	until := now.Add(leaseFor)
	list := make([]*lease, 0, len(s.leases.all))
	for _, l := range s.leases.all {
		l.until = until
		list = append(list, l)
	}
	for group := range slices.Chunk(list, renewAtOnce) {
		var cmds []valkey.LuaExec
		for _, l := range group {
			for i, key := range l.keys {
				cmds = append(cmds, beginning(strings.TrimSuffix(key, leasesOf), run, l.names[i], until))
			}
		}
		if err := s.beginAll(ctx, cmds); err != nil {
			return err
		}
	}
	return nil
}

// sure looks which run serves where the server has failed since the last look.
func (s *Shared) sure(ctx context.Context, now time.Time) error {
	if !s.link.doubted.Load() {
		return nil
	}
	return s.seen(ctx, now)
}

// over takes the levels of an account over into the present run of the server.
func (s *Shared) over(ctx context.Context, a *Account, now time.Time) error {
	if err := s.seen(ctx, now); err != nil {
		return err
	}
	var cmds []valkey.LuaExec
	for i, key := range a.keys() {
		if i%2 == 0 {
			cmds = append(cmds, beginning(key, s.run(), "", now))
		}
	}
	return s.beginAll(ctx, cmds)
}

// beginning is a call of begin.lua; no lease: the level alone is taken over.
func beginning(key, run, lease string, until time.Time) valkey.LuaExec {
	e := valkey.LuaExec{Keys: []string{key, key + leasesOf}, Args: []string{run}}
	if lease != "" {
		e.Args = append(e.Args, number(until.UnixMilli()), lease)
	}
	return e
}

func (s *Shared) beginAll(ctx context.Context, cmds []valkey.LuaExec) error {
	if len(cmds) == 0 {
		return nil
	}
	_, err := s.link.call(ctx, func(ctx context.Context, c valkey.Client) error {
		for _, r := range begin.ExecMulti(ctx, c, cmds...) {
			if err := r.Error(); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
