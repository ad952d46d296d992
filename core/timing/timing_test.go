package timing

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// parts reads a value into sums of microseconds by name.
func parts(t interface{ Fatalf(string, ...any) }, value string) (sums map[string]int64, upstreams int) {
	sums = map[string]int64{}
	for _, entry := range strings.Split(value, ", ") {
		name, rest, _ := strings.Cut(entry, ";dur=")
		dur, _, _ := strings.Cut(rest, ";")
		whole, frac, ok := strings.Cut(dur, ".")
		us, err := strconv.ParseInt(whole+frac, 10, 64)
		if !ok || len(frac) != 3 || err != nil {
			t.Fatalf("%q: entry %q is not name;dur=N.NNN", value, entry)
		}
		sums[name] += us
		if name == "upstream" {
			upstreams++
		}
	}
	return sums, upstreams
}

// check holds a finished value to its sums.
func check(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, value string, m Mode) map[string]int64 {
	s, _ := parts(t, value)
	var stages int64
	for _, n := range stageNames {
		stages += s[n]
	}
	if m >= Stages && stages != s["gw"] {
		t.Errorf("%q: gw is not the sum of its stages, %d", value, stages)
	}
	if sum := s["gw"] + s["upstream"] + s["backoff"] + s["post"]; sum != s["total"] {
		t.Errorf("%q: total is not the sum of its parts, %d", value, sum)
	}
	return s
}

func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var c Clock
		base := time.Now()
		c.Start(base)
		step := func() {
			// A clock whose start lies further back is a clock that more time has passed on.
			c.start = c.start.Add(-time.Duration(rapid.IntRange(0, 5_000_000).Draw(r, "ns")))
		}
		for range rapid.IntRange(0, 12).Draw(r, "marks") {
			step()
			c.Mark(Stage(rapid.IntRange(0, int(stages)-1).Draw(r, "stage")))
		}
		attempts := rapid.IntRange(0, 2*inline).Draw(r, "attempts")
		for i := range attempts {
			step()
			if i > 0 && rapid.Bool().Draw(r, "backoff") {
				c.BackoffStart()
				step()
				c.BackoffEnd()
			}
			step()
			c.AttemptStart()
			step()
			if rapid.Bool().Draw(r, "hedge") {
				c.Hedge(time.Second, "loser")
			}
			if rapid.Bool().Draw(r, "left open") {
				continue // the next attempt or Done ends it
			}
			c.Mark(Auth) // changes nothing: gw is over
			c.AttemptEnd("a")
		}
		step()
		c.Done()
		step()
		c.Done()
		for _, m := range []Mode{Totals, Stages, Attempts} {
			value := string(c.AppendHeader(nil, m))
			s := check(r, value, m)
			if _, n := parts(r, value); n != attempts {
				r.Errorf("%q: %d upstream entries, want %d", value, n, attempts)
			}
			if got := c.Total().Microseconds(); got != s["total"] {
				r.Errorf("Total is %d us, printed %d", got, s["total"])
			}
			if got := getters(&c); got != s["total"] {
				r.Errorf("the durations for the log add up to %d us, printed %d", got, s["total"])
			}
		}
	})
}

// getters adds up what the request log reads.
func getters(c *Clock) int64 {
	sum := c.Backoff() + c.Post()
	for s := range stages {
		sum += c.Stage(s)
	}
	for a := range c.Attempts() {
		if !a.Hedge {
			sum += a.Took
		}
	}
	return sum.Microseconds()
}

func TestWhereTheTimeGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		c.Start(time.Now())
		wait := func(us int) { time.Sleep(time.Duration(us) * time.Microsecond) }
		wait(31)
		c.Mark(Auth)
		wait(400)
		c.Mark(Prep)
		wait(7)
		c.AttemptStart()
		wait(38_000)
		c.AttemptEnd("openai#1 429")
		c.BackoffStart()
		wait(200_000)
		c.BackoffEnd()
		c.AttemptStart()
		wait(41_000)
		stream := string(c.AppendStreamHeader(nil, Attempts))
		c.AttemptEnd(`cla"ude#2`)
		wait(20)
		c.Done()
		f := func(m Mode, want string) {
			t.Helper()
			if got := string(c.AppendTrailer(nil, m)); got != want {
				t.Errorf("mode %d:\n got %s\nwant %s", m, got, want)
			}
		}
		f(Off, "")
		f(Totals, "gw;dur=0.438, upstream;dur=38.000, upstream;dur=41.000, backoff;dur=200.000, post;dur=0.020, total;dur=279.458")
		f(Stages, "gw;dur=0.438, gw-auth;dur=0.031, gw-ctx;dur=0.000, gw-limit;dur=0.000, gw-prep;dur=0.400, gw-route;dur=0.007, "+
			"upstream;dur=38.000, upstream;dur=41.000, backoff;dur=200.000, post;dur=0.020, total;dur=279.458")
		f(Attempts, "gw;dur=0.438, gw-auth;dur=0.031, gw-ctx;dur=0.000, gw-limit;dur=0.000, gw-prep;dur=0.400, gw-route;dur=0.007, "+
			`upstream;dur=38.000;desc="openai#1 429", upstream;dur=41.000;desc="cla\"ude#2", backoff;dur=200.000, post;dur=0.020, total;dur=279.458`)
		if want := `upstream;dur=38.000;desc="openai#1 429", upstream;dur=41.000;desc="ttfb", backoff;dur=200.000`; !strings.HasSuffix(stream, want) {
			t.Errorf("stream head %s, want it to end in %s", stream, want)
		}
		if strings.Contains(stream, "total") || strings.Contains(stream, "post") {
			t.Errorf("stream head %s tells what is not known yet", stream)
		}
	})
}

func TestErrorsBeforeAnyAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		c.Start(time.Now())
		time.Sleep(time.Millisecond)
		c.Done()
		if got := string(c.AppendHeader(nil, Totals)); got != "gw;dur=1.000, total;dur=1.000" {
			t.Errorf("%s", got)
		}
	})
}

// After Done the finals are fixed, whatever still happens to the request.
func TestNothingCountsAfterDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		c.Start(time.Now())
		c.AttemptStart()
		time.Sleep(time.Millisecond)
		c.AttemptEnd("a")
		c.BackoffStart()
		time.Sleep(time.Millisecond)
		c.Done()
		want := "gw;dur=0.000, upstream;dur=1.000, backoff;dur=1.000, post;dur=0.000, total;dur=2.000"
		time.Sleep(time.Second)
		c.BackoffEnd()
		c.Mark(Prep)
		c.BackoffStart()
		c.AttemptStart()
		c.AttemptEnd("b")
		c.Done()
		if got := string(c.AppendTrailer(nil, Totals)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

// A description can neither end its quotes nor the header.
func TestDescIsQuoted(t *testing.T) {
	f := func(desc, want string) {
		t.Helper()
		if got := string(appendDesc(nil, desc)); got != ";desc="+want {
			t.Errorf("appendDesc(%q) = %s, want ;desc=%s", desc, got, want)
		}
	}
	f("openai#1 429", `"openai#1 429"`)
	f(`a"b\c`, `"a\"b\\c"`)
	f("a\r\nset-cookie: x\x00\u00e9", `"aset-cookie: x"`)
	f("", `""`)
}

func TestNoAllocations(t *testing.T) {
	var c Clock
	buf := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() {
		c.Start(time.Now())
		c.Mark(Auth)
		c.AttemptStart()
		c.AttemptEnd("x")
		c.Done()
		buf = c.AppendHeader(buf[:0], Attempts)
	}); n != 0 {
		t.Errorf("%v allocations a request, want none", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	var c Clock
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		c.Start(time.Now())
		for s := range stages {
			c.Mark(s)
		}
		c.AttemptStart()
		c.AttemptEnd("openai#1 200")
		c.Done()
		buf = c.AppendHeader(buf[:0], Stages)
	}
}
