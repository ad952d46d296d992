package admit

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/credential"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// slowStore is a store whose reads take a while, fail, or never answer.
type slowStore struct {
	delay time.Duration

	mu    sync.Mutex // guards what follows
	err   error
	hangs bool
	keys  map[[32]byte]store.Key
	teams []store.Team
	orgs  []store.Organisation
	creds []store.Credential
	spent int64
	reads map[string]int
	subs  []func(store.Event)
}

func (s *slowStore) wait(ctx context.Context, what string) error {
	s.mu.Lock()
	if s.reads == nil {
		s.reads = map[string]int{}
	}
	s.reads[what]++
	err, hangs := s.err, s.hangs
	s.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case <-time.After(s.delay):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count gives how often something was read.
func (s *slowStore) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[what]
}

func (s *slowStore) Key(ctx context.Context, sum [32]byte) (store.Key, error) {
	s.mu.Lock()
	k, ok := s.keys[sum]
	s.mu.Unlock()
	if err := s.wait(ctx, "key"); err != nil {
		return store.Key{}, err
	}
	if !ok {
		return k, store.ErrNotFound
	}
	return k, nil
}

func (s *slowStore) Teams(ctx context.Context) ([]store.Team, error) {
	err := s.wait(ctx, "teams")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.teams, err
}

func (s *slowStore) Organisations(ctx context.Context) ([]store.Organisation, error) {
	err := s.wait(ctx, "organisations")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orgs, err
}

func (s *slowStore) Credentials(ctx context.Context) ([]store.Credential, error) {
	err := s.wait(ctx, "credentials")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.creds, err
}

func (s *slowStore) SpentByOrganisation(ctx context.Context, _ string, _ time.Time) (int64, error) {
	return s.spent, s.wait(ctx, "spent")
}

func (s *slowStore) SpentByKey(ctx context.Context, _ string, _ time.Time) (int64, error) {
	return s.spent, s.wait(ctx, "spent")
}

func (s *slowStore) SpentByTeam(ctx context.Context, _ string, _ time.Time) (int64, error) {
	return s.spent, s.wait(ctx, "spent")
}

func (s *slowStore) Subscribe(_ store.Kind, call func(store.Event)) func() {
	s.subs = append(s.subs, call)
	return func() {}
}

// change changes the store, and tells of it.
func (s *slowStore) change(f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	for _, call := range s.subs {
		call(store.Event{})
	}
}

// add adds a key and gives its secret.
func (s *slowStore) add(t testing.TB, name, team string, settings Settings) string {
	t.Helper()
	b, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	secret := NewSecret()
	sum := sha256.Sum256([]byte(secret))
	if s.keys == nil {
		s.keys = map[[32]byte]store.Key{}
	}
	s.keys[sum] = store.Key{ID: "id-" + name, Name: name, Team: team, SHA256: sum, Settings: b}
	return secret
}

// directory is a generation of a few keys and teams.
type directory struct {
	keys   map[[32]byte]*Key
	teams  map[string]*Team
	of     map[string]*Organisation
	closed bool
	seals  *credential.Seals
}

func (d *directory) FindKey(sum [32]byte) *Key  { return d.keys[sum] }
func (d *directory) FindTeam(name string) *Team { return d.teams[name] }
func (d *directory) FindOrganisation(name string) *Organisation {
	return d.of[name]
}
func (d *directory) FailClosed() bool         { return d.closed }
func (d *directory) Seals() *credential.Seals { return d.seals }

// admitter makes one in the bubble's time, closed at its end.
func admitter(s *slowStore, warm ...Starter) (*Admitter, func()) {
	counters := limits.NewMemory(time.Now())
	a := New(Options{Counters: counters, Store: s, Warm: warm, Log: slog.New(slog.DiscardHandler)})
	return a, a.Close
}

// kind checks the kind of a failure; KindNone is none.
func kind(t testing.TB, what string, f *sdk.Failure, want sdk.Kind) {
	t.Helper()
	got := sdk.KindNone
	if f != nil {
		got = f.Kind
	}
	if got != want {
		t.Errorf("%s: %v %v, want %v", what, got, f, want)
	}
}

func TestConfiguredKeys(t *testing.T) {
	sum := sha256.Sum256([]byte("a secret"))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	team := ConfiguredTeam(&config.Team{Name: "search", Models: []string{"a", "b"}})
	key := ConfiguredKey(&config.Key{Name: "ci", SHA256: sum, Models: []string{"b", "c"}, Dialects: []string{"gemini"}, Expires: now}, team, nil)
	d := &directory{keys: map[[32]byte]*Key{sum: key}}
	a := New(Options{Counters: limits.NewMemory(now), Log: slog.New(slog.DiscardHandler)})
	defer a.Close()
	got, f := a.Authenticate(context.Background(), d, []byte("a secret"), now.Add(-1))
	if got != key || f != nil {
		t.Errorf("a nanosecond before it expires: %v, %v", got, f)
	}
	_, f = a.Authenticate(context.Background(), d, []byte("a secret"), now)
	kind(t, "when it expires", f, sdk.BadKey)
	_, f = a.Authenticate(context.Background(), d, []byte("another"), now)
	kind(t, "another secret", f, sdk.BadKey)
	for model, want := range map[string]bool{"a": false, "b": true, "c": false} {
		if key.Allows(model) != want {
			t.Errorf("model %s: allowed %v, want %v", model, !want, want)
		}
	}
	if !key.Speaks("gemini-embeddings") || key.Speaks("anthropic") {
		t.Error("a key of Gemini's dialect speaks that and nothing else")
	}
}

// The reads of a cold start run beside each other: a request waits for the longest, not for their sum.
func TestColdReadsAreOneWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{delay: 250 * time.Millisecond, teams: []store.Team{{ID: "search", Settings: json.RawMessage(`{"limits":{"rpm":10}}`)}}}
		secret := s.add(t, "ci", "search", Settings{})
		routing := NewRead(func(context.Context) (int, error) { time.Sleep(250 * time.Millisecond); return 1, nil })
		defer routing.Close()
		a, done := admitter(s, routing)
		defer done()
		begun := time.Now()
		key, f := a.Authenticate(context.Background(), &directory{}, []byte(secret), begun)
		kind(t, "the key", f, sdk.KindNone)
		if _, err := routing.Get(context.Background(), false); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 250*time.Millisecond {
			t.Errorf("key, team and routing's read took %s, want 250ms: one read", took)
		}
		if key.Team != "search" || len(key.Account.Levels) != 1 {
			t.Errorf("%+v", key)
		}
		begun = time.Now()
		if again, _ := a.Authenticate(context.Background(), &directory{}, []byte(secret), begun); again != key || time.Since(begun) != 0 {
			t.Errorf("the second time: %v after %s", again, time.Since(begun))
		}
	})
}

// A bad key fails without waiting for what its request has begun, and that goes on for those who joined it.
func TestBadKeyLeavesTheWarmWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{delay: 250 * time.Millisecond}
		a, done := admitter(s)
		defer done()
		begun := time.Now()
		_, f := a.Authenticate(context.Background(), &directory{}, []byte("no such key"), begun)
		kind(t, "bad key", f, sdk.BadKey)
		if took := time.Since(begun); took != 0 {
			t.Errorf("it was told after %s", took)
		}
		if _, err := a.teams.Get(context.Background(), false); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 250*time.Millisecond || s.count("teams") != 1 {
			t.Errorf("who joined its read had it after %s and %d reads", took, s.count("teams"))
		}
	})
}

// A read that never answers costs those who join it 1.5 s, and then a read of their own.
func TestReadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{delay: 250 * time.Millisecond, hangs: true}
		secret := s.add(t, "ci", "", Settings{})
		a, done := admitter(s)
		defer done()
		var group sync.WaitGroup
		group.Go(func() {
			_, f := a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now())
			kind(t, "the first", f, sdk.StoreDown)
		})
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		s.hangs = false
		s.mu.Unlock()
		begun := time.Now()
		_, f := a.Authenticate(context.Background(), &directory{}, []byte(secret), begun)
		kind(t, "who joined", f, sdk.KindNone)
		if took := time.Since(begun); took != 1750*time.Millisecond {
			t.Errorf("who joined a read that hangs had a key after %s, want 1.75s", took)
		}
		group.Wait()
	})
}

func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{}
		known, unknown := s.add(t, "known", "", Settings{}), s.add(t, "unknown", "", Settings{})
		a, done := admitter(s)
		defer done()
		open, closed := &directory{}, &directory{closed: true}
		auth := func(d *directory, secret string) *sdk.Failure {
			_, f := a.Authenticate(context.Background(), d, []byte(secret), time.Now())
			return f
		}
		kind(t, "before the outage", auth(open, known), sdk.KindNone)
		s.mu.Lock()
		s.err = errors.New("the disk is on fire")
		s.mu.Unlock()
		time.Sleep(2 * freshFor)
		kind(t, "fail_open, a key that was known", auth(open, known), sdk.KindNone)
		kind(t, "fail_closed, a key that was known", auth(closed, known), sdk.StoreDown)
		kind(t, "a key that was not", auth(open, unknown), sdk.StoreDown)
		kind(t, "what is no key of ours", auth(open, "psk_typed"), sdk.BadKey)
		reads := s.count("key")
		for range 100 {
			auth(open, unknown)
		}
		if n := s.count("key") - reads; n > 1 {
			t.Errorf("a store that is down was asked %d times at once", n)
		}
		time.Sleep(2 * staleFor)
		kind(t, "hours later", auth(open, known), sdk.StoreDown)
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		time.Sleep(downFor)
		kind(t, "when it is back", auth(closed, unknown), sdk.KindNone)
	})
}

// A write is seen by the next request, also where a read was under way.
func TestRevokedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{delay: time.Second}
		secret := s.add(t, "ci", "", Settings{})
		a, done := admitter(s)
		defer done()
		var group sync.WaitGroup
		group.Go(func() { a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now()) })
		time.Sleep(500 * time.Millisecond)
		s.change(func() {
			sum := sha256.Sum256([]byte(secret))
			row := s.keys[sum]
			row.RevokedAt = time.Now()
			s.keys[sum] = row
		})
		_, f := a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now())
		kind(t, "after it was revoked", f, sdk.BadKey)
		group.Wait()
		_, f = a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now())
		kind(t, "and when the older read has ended", f, sdk.BadKey)
		s.change(func() {
			sum := sha256.Sum256([]byte(secret))
			row := s.keys[sum]
			row.RevokedAt = time.Time{}
			s.keys[sum] = row
		})
		_, f = a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now())
		kind(t, "that it is unknown was not remembered beyond a write", f, sdk.KindNone)
	})
}

func TestTeamOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{}
		secret := s.add(t, "ci", "search", Settings{Models: []string{"a", "b"}})
		a, done := admitter(s)
		defer done()
		_, f := a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now())
		kind(t, "a team that is not there", f, sdk.BadKey)
		s.change(func() {
			s.teams = []store.Team{{ID: "search", Settings: json.RawMessage(`{"models":["b"],"limits":{"rpm":1}}`)}}
		})
		key, f := a.Authenticate(context.Background(), &directory{}, []byte(secret), time.Now())
		kind(t, "a team that is", f, sdk.KindNone)
		if key.Allows("a") || !key.Allows("b") || len(key.Account.Levels) != 1 {
			t.Errorf("%+v", key)
		}
		of := &directory{teams: map[string]*Team{"search": {Name: "search"}}}
		key, _ = a.Authenticate(context.Background(), of, []byte(secret), time.Now())
		if !key.Allows("a") || len(key.Account.Levels) != 0 {
			t.Errorf("the configuration's team comes first: %+v", key)
		}
	})
}

func TestSecrets(t *testing.T) {
	s := NewSecret()
	if !made([]byte(s)) || made([]byte(s[:len(s)-1])) || made([]byte(strings.Replace(s, "psk_", "sk-", 1))) {
		t.Errorf("%s: want it, and nothing else, to be taken for ours", s)
	}
	wrong := []byte(s)
	for i := len(secretPrefix); i < len(wrong); i++ {
		old := wrong[i]
		if wrong[i] = 'A'; old == 'A' {
			wrong[i] = 'B'
		}
		if made(wrong) {
			t.Errorf("%s: a mistyped secret passes for ours", wrong)
		}
		wrong[i] = old
	}
	if shown := Shown(s); len(shown) != 12 || !strings.HasPrefix(s, shown) {
		t.Errorf("shown: %q", shown)
	}
}
