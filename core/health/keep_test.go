package health

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st
}

// follow has a registry follow a store until the function that it gives is called.
func follow(r *Registry, st Store) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		r.Follow(ctx, st)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestSurvivesTheProcess holds that a registry that begins where another ended knows what that one knew.
func TestSurvivesTheProcess(t *testing.T) {
	st := openStore(t)
	b := newBench(t)
	b.now = time.Now()
	b.s.QuarantineAfter = 2
	end := follow(b.registry, st)
	b.fail(5)
	b.sleep(10 * time.Second)
	b.ask(fine)
	b.fail(5)
	account := b.registry.Credential(CredentialID("p", "main", ""))
	account.Hold(Outcome{Kind: sdk.UpstreamMoney, Status: 402, Hold: time.Hour, Ended: b.now}, b.s)
	end()

	next := NewRegistry(slog.New(slog.DiscardHandler))
	if err := next.Restore(t.Context(), st, b.now); err != nil {
		t.Fatal(err)
	}
	for _, was := range []*Backend{b.Backend, account} {
		is := next.backend(was.ID, was.account)
		if d := cmp.Diff(was.Record(), is.Record()); d != "" {
			t.Errorf("-was +is\n%s", d)
		}
		if is.account != was.account || !cmp.Equal(is.Look(b.now), was.Look(b.now)) || is.Look(b.now).OK {
			t.Errorf("%s is %+v, was %+v", was.ID, is.Look(b.now), was.Look(b.now))
		}
	}
	b.Backend = next.Backend(b.ID)
	b.looks(Quarantined, "opened 2 times in an hour; 5 failures in a row, the last: upstream_error (status 500)", 10*time.Minute)
	b.sleep(10 * time.Minute)
	b.ask(fine)
	b.looks(Closed, "", 0)

	late := NewRegistry(slog.New(slog.DiscardHandler))
	if err := late.Restore(t.Context(), st, b.now.Add(8*24*time.Hour)); err != nil || len(late.Backends()) != 0 {
		t.Errorf("a week later there are %d backends, error %v", len(late.Backends()), err)
	}
	if flags, err := st.HealthFlags(t.Context()); err != nil || len(flags) != 0 {
		t.Errorf("a week later there are %d records, error %v", len(flags), err)
	}
}

// TestOthersRecords says what is taken from another gateway that runs beside this one.
func TestOthersRecords(t *testing.T) {
	f := func(name string, there func(b *bench), want Phase) {
		t.Helper()
		other, here := newBench(t), newBench(t)
		there(other)
		state, err := json.Marshal(other.Record())
		if err != nil {
			t.Fatal(err)
		}
		flag := &store.HealthFlag{Backend: other.ID, State: state}
		for range 2 { // the second time it is not newer
			here.registry.takeUp(flag, other.now, false)
			if got := here.Look(other.now); got.Phase != want || got.OK != (want == Closed) {
				t.Errorf("%s: got %+v, want %s", name, got, want)
			}
		}
	}
	f("nothing", func(b *bench) {}, Closed)
	f("cannot be reached", func(b *bench) { b.fail(5) }, Closed)
	f("held", func(b *bench) { b.ask(Outcome{Kind: sdk.UpstreamRate, Hold: time.Minute}) }, Held)
	f("quarantined", func(b *bench) { b.s.QuarantineAfter = 1; b.fail(5) }, Quarantined)
	f("quarantined, then held", func(b *bench) {
		p, _ := b.Admit(b.now, b.s)
		b.s.QuarantineAfter = 1
		b.fail(5)
		b.sleep(time.Second)
		p.Done(Outcome{Kind: sdk.UpstreamRate, Hold: time.Minute, Ended: b.now})
	}, Quarantined)

	other, here := newBench(t), newBench(t)
	here.s.QuarantineAfter = 1
	here.fail(5)
	other.sleep(time.Second)
	other.s.QuarantineAfter = 1
	other.fail(5)
	other.Release(other.now, "a test")
	state, _ := json.Marshal(other.Record()) // texts and times alone
	here.registry.takeUp(&store.HealthFlag{Backend: other.ID, State: state}, other.now, false)
	if got := here.Look(other.now); !got.OK {
		t.Errorf("a release elsewhere leaves it %+v", got)
	}
	here.registry.takeUp(&store.HealthFlag{Backend: "x", State: []byte(`{"phase":7}`)}, other.now, false)
	if len(here.registry.Backends()) != 1 {
		t.Error("a record that cannot be read has made a backend")
	}
}

// TestClusterHears holds that gateways on one store hear of each other's holds and releases.
func TestClusterHears(t *testing.T) {
	st := openStore(t)
	a, b := newBench(t), newBench(t)
	a.now = time.Now()
	defer follow(a.registry, st)()
	defer follow(b.registry, st)()
	a.ask(Outcome{Kind: sdk.UpstreamRate, Status: 429, Hold: time.Minute})
	await(t, func() bool { return b.Look(time.Now()).Phase == Held })
	b.Release(time.Now(), "a test")
	await(t, func() bool { return a.Look(time.Now()).OK })
}

// await polls until a condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it did not come about within 20 s")
		}
	}
}

// unwilling is a store that does not take records while it is told not to.
type unwilling struct {
	*store.Store
	refuses atomic.Bool
}

func (u *unwilling) PutHealthFlag(ctx context.Context, f store.HealthFlag) error {
	if u.refuses.Load() {
		return errors.New("no space left on device")
	}
	return u.Store.PutHealthFlag(ctx, f)
}

// TestSavedWhenTheStoreIsBack holds that a record that could not be saved is, without another change.
func TestSavedWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &unwilling{Store: openStore(t)}
		st.refuses.Store(true)
		b := newBench(t)
		b.now = time.Now()
		defer follow(b.registry, st)()
		b.fail(5)
		time.Sleep(time.Minute)
		if flags, err := st.HealthFlags(t.Context()); err != nil || len(flags) != 0 {
			t.Errorf("%d records, error %v", len(flags), err)
		}
		st.refuses.Store(false)
		time.Sleep(2 * saveAgain)
		synctest.Wait()
		if flags, err := st.HealthFlags(t.Context()); err != nil || len(flags) != 1 {
			t.Errorf("%d records when the store is back, error %v", len(flags), err)
		}
	})
}
