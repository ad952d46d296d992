package credential

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/flight"
	"github.com/penstock-gateway/penstock/sdk"
)

// When a token is renewed, and how long the plugin is left alone after a failure. The pauses double from the first to
// the last.
const (
	renewAhead  = 5 * time.Minute // before its end; of a shorter-lived one, when half its life is over
	minRenewal  = time.Second     // between two renewals at least
	giveUpEvery = time.Minute     // between two tokens that are given up since they were refused, at least
	firstPause  = time.Second
	lastPause   = time.Minute
)

// Token keeps what authorizes the requests of one credential for some time. While it is good nobody waits; it is renewed
// in the background before its end where it has been used since the last time. Its methods may be called from any
// goroutine.
type Token struct {
	from   Authorizer
	secret Secret
	log    *slog.Logger

	kept    atomic.Pointer[held]
	used    atomic.Bool // since the last renewal
	fetches flight.Group[struct{}, *held]

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	closed  bool
	failure error     // of the last fetch, given to all who come before again
	again   time.Time // when the plugin is next asked after it
	pause   time.Duration
	gaveUp  time.Time      // when a token was given up since it was refused
	renews  sync.WaitGroup // Add under mu, and not when closed
}

// NewToken makes the token of a credential. It is fetched when it is first wanted. The caller calls Close.
func NewToken(from Authorizer, s Secret, log *slog.Logger) *Token {
	return &Token{from: from, secret: s, log: log.With("provider", s.Provider, "credential", s.Name),
		fetches: flight.Group[struct{}, *held]{Join: -1, Limit: patience}}
}

// Fields gives the header lines. Where there are none that are good, all callers wait for one fetch, for a bounded time.
// After a failed fetch they get its error for some time and the plugin is not asked.
func (t *Token) Fields() ([]byte, error) {
	if !t.used.Load() {
		t.used.Store(true)
	}
	if h := t.kept.Load(); h.good(time.Now()) {
		return h.fields, nil
	}
	h, err := t.fetches.Do(context.Background(), struct{}{}, t.first)
	if err != nil {
		return nil, err
	}
	return h.fields, nil
}

// Refused says that an upstream has refused these lines, and tells whether others are to be had. A token may be withdrawn
// before its end, and is then kept no longer; but when another is refused soon after it, the tokens are not at fault.
func (t *Token) Refused(fields []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.kept.Load()
	switch {
	case h == nil || !bytes.Equal(h.fields, fields):
		return true // another has come meanwhile, or will
	case time.Since(t.gaveUp) < giveUpEvery:
		return false
	}
	t.gaveUp = time.Now()
	t.kept.CompareAndSwap(h, nil)
	return true
}

// first fetches a token for those who wait, unless one has just come or failed to.
func (t *Token) first(ctx context.Context) (*held, error) {
	if h := t.kept.Load(); h.good(time.Now()) {
		return h, nil
	}
	t.mu.Lock()
	err := t.failure
	if !time.Now().Before(t.again) {
		err = nil
	}
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return t.fetch(ctx)
}

// fetch asks the plugin, and sets the time of the next renewal.
func (t *Token) fetch(ctx context.Context) (*held, error) {
	h, lifetime, err := ask(ctx, t.from, sdk.AuthRequest{Provider: t.secret.Provider, Credential: t.secret.Values})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.pause = min(max(2*t.pause, firstPause), lastPause)
		t.failure, t.again = err, time.Now().Add(t.pause)
		if t.kept.Load().good(t.again) {
			t.renewIn(t.pause)
		}
		return nil, err
	}
	t.failure, t.pause = nil, 0
	t.kept.Store(h)
	t.renewIn(untilRenewal(lifetime))
	return h, nil
}

// untilRenewal says how long a token of some lifetime is left alone.
func untilRenewal(lifetime time.Duration) time.Duration {
	if lifetime <= renewAhead {
		return max(lifetime/2, minRenewal)
	}
	return max(lifetime-renewAhead, minRenewal)
}

// renewIn sets the timer. t.mu is held.
func (t *Token) renewIn(d time.Duration) {
	if t.closed {
		return
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = time.AfterFunc(d, t.renew)
}

// renew fetches a token in place of one that is still good. One that nobody has used meanwhile is left to end.
func (t *Token) renew() {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.renews.Add(1)
	failed := t.failure != nil
	t.mu.Unlock()
	defer t.renews.Done()
	if !t.used.Swap(false) && !failed {
		return
	}
	if _, err := t.fetches.Do(context.Background(), struct{}{}, t.fetch); err != nil {
		t.log.Warn("token could not be renewed", "error", err)
	}
}

// Close ends the renewals and waits for a fetch that is under way, whose context ends.
func (t *Token) Close() {
	t.mu.Lock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.fetches.Close()
	t.renews.Wait()
}
