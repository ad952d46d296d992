package reach

import (
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/core/h1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse gives addresses.
func parse(t *testing.T, list ...string) (all []*url.URL) {
	t.Helper()
	for _, text := range list {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

// bench is a service of three addresses, whose measurements a test tells.
type bench struct {
	t *testing.T
	*Service
	now time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	n := &Network{Log: slog.New(slog.DiscardHandler)}
	s, free, err := n.Service("p", parse(t, "http://a/v1", "http://b:8080/", "http://c/x/v2"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	return &bench{t, s, time.Now()}
}

// is tells a measurement in milliseconds; 0 is a failure.
func (b *bench) is(name string, ms float64) {
	b.t.Helper()
	var err error
	if ms == 0 {
		err = &h1.CallError{Phase: "connect", Err: errors.New("refused")}
	}
	b.now = b.now.Add(2 * measureEvery)
	b.measured(b.named(name), h1.Distance{Connect: time.Duration(ms * float64(time.Millisecond))}, err, b.now)
}

func (b *bench) named(name string) *address {
	b.t.Helper()
	for _, a := range b.addresses {
		if strings.HasPrefix(a.base.Host, name) {
			return a
		}
	}
	b.t.Fatalf("no address %s", name)
	return nil
}

func (b *bench) uses(name string) {
	b.t.Helper()
	if got := b.Place("/").Base.Host; !strings.HasPrefix(got, name) {
		b.t.Errorf("requests go to %s, want %s", got, name)
	}
}

func TestNearest(t *testing.T) {
	b := newBench(t)
	b.uses("a")
	b.is("c", 10)
	b.uses("a") // which is not measured yet
	b.is("a", 40)
	b.uses("c")
	b.is("b", 9)
	b.uses("c") // b is nearer, but not by a fifth
	b.is("b", 2)
	b.uses("b") // smoothed: 6.9
	b.is("c", 6.4)
	b.uses("b")
	b.is("b", 0)
	b.uses("c")
	b.is("c", 0)
	b.uses("a")
	b.is("a", 0)
	b.uses("b") // none can be reached: the one that failed longest ago
	b.is("c", 10)
	b.uses("c")
	b.is("b", 7)
	b.uses("b")
}

// TestNoFlapping: addresses that are about as far as each other do not take turns.
func TestNoFlapping(t *testing.T) {
	b := newBench(t)
	for i := range 100 {
		b.is("a", 20+float64(i%5))
		b.is("b", 20+float64((i+3)%5))
		b.is("c", 0.05) // next door, as are two of a test's
		b.is("c", 0.05)
		if i == 0 {
			b.uses("c")
		}
	}
	b.uses("c")
	near := newBench(t)
	for range 10 {
		near.is("a", 0.4)
		near.is("b", 0.05) // an eighth, but not worth a word
		near.uses("a")
	}
}

func TestPlace(t *testing.T) {
	b := newBench(t)
	f := func(host, want string) {
		t.Helper()
		b.chosen.Store(b.named(host))
		if p := b.Place("/v1/chat?x=/v1"); p.Target != want || !strings.HasPrefix(p.Base.Host, host) || p.Pool != b.named(host).pool {
			t.Errorf("at %s: %q at %s, want %q", host, p.Target, p.Base, want)
		}
	}
	f("a", "/v1/chat?x=/v1")
	f("b", "/chat?x=/v1")
	f("c", "/x/v2/chat?x=/v1")
}

func TestUnreached(t *testing.T) {
	b := newBench(t)
	err := &h1.CallError{Phase: "tls", Err: errors.New("unknown authority")}
	at := b.Place("/")
	if !b.Unreached(at, err) {
		t.Error("there is another place")
	}
	if b.uses("b"); b.named("a").why != "tls: unknown authority" || b.named("a").failures != 1 {
		t.Errorf("the first address is %+v", b.named("a"))
	}
	b.Unreached(at, err) // of a call that was under way: it is known
	if n := b.named("a").failures; n != 1 {
		t.Errorf("%d failures, want one", n)
	}
	if len(b.due) != 1 {
		t.Error("nobody is called to measure")
	}
	b.Unreached(b.Place("/"), err)
	if b.Unreached(b.Place("/"), err) {
		t.Error("there is no place left")
	}
	if list := b.states(); len(list) != 3 || list[0].Why == "" || list[0].Provider != "p" || list[0].Base != "http://a/v1" || list[2].Next.IsZero() {
		t.Errorf("the states are %+v", list)
	}
}

// TestFailuresAreTriedAgain: an address that fails is tried after 1, 2, 4 … seconds, and once a minute in the end.
func TestFailuresAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for _, want := range []float64{1, 2, 4, 8, 16, 32, 60, 60} {
			now := time.Now()
			b.measured(b.named("a"), h1.Distance{}, errors.New("away"), now)
			wait := b.named("a").next.Sub(now).Seconds()
			if wait < 0.89*want || wait > 1.11*want {
				t.Errorf("the next try is in %.1f s, want about %v", wait, want)
			}
			if list, next := b.toMeasure(now); len(list) != 2 || !next.IsZero() {
				t.Errorf("%d are due, next %v; want the two that were never measured", len(list), next)
			}
			time.Sleep(b.named("a").next.Sub(now))
		}
	})
}
