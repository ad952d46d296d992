package relay

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/sdk"
)

func TestFollows(t *testing.T) {
	f := func(kind sdk.Kind, status int, sent bool, want outcome) {
		t.Helper()
		if got := follows(&sdk.Failure{Kind: kind, Status: status}, sent); got != want {
			t.Errorf("%v %d sent %v: %v, want %v", kind, status, sent, got, want)
		}
	}
	f(sdk.BadRequest, 400, true, outcome{then: giveUp})
	f(sdk.ContentRefused, 400, true, outcome{then: giveUp})
	f(sdk.TooLarge, 413, true, outcome{then: giveUp})
	f(sdk.ClientGone, 0, true, outcome{then: giveUp})
	f(sdk.ContextTooLong, 400, true, outcome{then: larger})
	f(sdk.UpstreamRate, 429, true, outcome{otherKey, same, theCredential})
	f(sdk.UpstreamAuth, 401, true, outcome{otherKey, another, theCredential})
	f(sdk.UpstreamMoney, 429, true, outcome{otherKey, another, theCredential})
	f(sdk.Overloaded, 529, true, outcome{then: same, hold: theDeployment})
	f(sdk.UpstreamError, 500, true, outcome{then: same, hold: theDeployment})
	f(sdk.UpstreamError, 0, false, outcome{then: same, hold: theDeployment})   // never reached: nothing can have been charged
	f(sdk.UpstreamError, 0, true, outcome{then: another, hold: theDeployment}) // outcome unknown: not repeated where it may have been charged
	f(sdk.UpstreamEmpty, 200, true, outcome{then: same, hold: theDeployment})
	f(sdk.Timeout, 408, true, outcome{then: same, hold: theDeployment})       // it never came whole
	f(sdk.UpstreamError, 409, true, outcome{then: same, hold: theDeployment}) // another request was in its way
	f(sdk.UpstreamError, 425, true, outcome{then: same, hold: theDeployment})
	f(sdk.UpstreamError, 424, true, outcome{then: another, hold: theDeployment})
	f(sdk.UpstreamError, 499, true, outcome{then: another, hold: theDeployment})
	f(sdk.Timeout, 524, true, outcome{then: another, hold: theDeployment})
	f(sdk.UpstreamModel, 404, true, outcome{then: another, hold: theDeployment})
	f(sdk.Timeout, 0, true, outcome{then: another, hold: theDeployment})
	f(sdk.PluginFailed, 0, false, outcome{then: another, hold: theDeployment})
}

func TestFullJitter(t *testing.T) {
	for n := 1; n < 80; n++ {
		if d := fullJitter(100*time.Millisecond, time.Second, n); d < 0 || d > time.Second || n == 1 && d > 100*time.Millisecond {
			t.Errorf("wait %d: %v is out of its bounds", n, d)
		}
	}
	if d := fullJitter(0, time.Second, 3); d != 0 {
		t.Errorf("no first wait: %v, want none", d)
	}
}

func TestDialectFields(t *testing.T) {
	head := &h1.Head{Fields: []h1.Field{{Name: []byte("Anthropic-Beta"), Value: []byte("a,b")}, {Name: []byte("anthropic-version"), Value: []byte("2099-01-01")},
		{Name: []byte("Authorization"), Value: []byte("Bearer x")}, {Name: []byte("X-Stainless-Lang"), Value: []byte("go")}, {Name: []byte("Cookie"), Value: []byte("c")}}}
	static := []sdk.Header{{Name: "anthropic-version", Value: "2023-06-01"}, {Name: "bad", Value: "a\r\nX: y"}}
	got := string(dialectFields(nil, static, head, []string{"anthropic-*", "authorization", "cookie"}))
	if want := "anthropic-beta: a,b\r\nanthropic-version: 2099-01-01\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(dialectFields(nil, static, nil, nil)); got != "anthropic-version: 2023-06-01\r\n" {
		t.Errorf("of a translated request: %q", got)
	}
}

// TestFieldsWithoutCopies holds that looking at a client's and an upstream's fields makes no garbage.
func TestFieldsWithoutCopies(t *testing.T) {
	fields := []h1.Field{{Name: []byte("User-Agent"), Value: []byte("SDK/1.99")}, {Name: []byte("X-Stainless-Runtime-Version"), Value: []byte("3.13.0")},
		{Name: []byte("Anthropic-Beta"), Value: []byte("a")}, {Name: []byte("Retry-After"), Value: []byte("3")}}
	head, static := &h1.Head{Fields: fields}, []sdk.Header{{Name: "anthropic-version", Value: "2023-06-01"}}
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		dst = dialectFields(dst[:0], static, head, []string{"anthropic-*"})
		dst = AppendAnswerFields(dst, fields, false)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if string(dst) != "anthropic-version: 2023-06-01\r\nanthropic-beta: a\r\nretry-after: 3\r\n" {
		t.Errorf("%q", dst)
	}
}

func TestDroppedHeader(t *testing.T) {
	got := DroppedHeader([]sdk.Note{{Path: "seed"}, {Path: "reasoning", Approximate: true}, {Path: "messages[0].content[1]\r\nX: y, z"}})
	if got != "seed, reasoning;approximate, messages[0].content[1]X:yz" {
		t.Errorf("%q", got)
	}
	long := make([]sdk.Note, 1000)
	for i := range long {
		long[i].Path = "messages[0].content"
	}
	if n := len(DroppedHeader(long)); n > 1200 {
		t.Errorf("%d bytes, want a bound", n)
	}
}

func TestAnswerFields(t *testing.T) {
	for name, want := range map[string]bool{"retry-after": true, "x-ratelimit-limit-requests": true, "anthropic-ratelimit-unified-status": true,
		"set-cookie": false, "server": false, "x-goog-api-key": false, "content-length": false, "transfer-encoding": false, "authorization": false} {
		if answerField(name, false) != want {
			t.Errorf("%s passes: %v, want %v", name, !want, want)
		}
	}
	fields := []h1.Field{{Name: []byte("Retry-After"), Value: []byte("3")}, {Name: []byte("X-RateLimit-Limit-Requests"), Value: []byte("9")}, {Name: []byte("Server"), Value: []byte("s")}}
	if got := string(AppendAnswerFields(nil, fields, false)); got != "retry-after: 3\r\nx-ratelimit-limit-requests: 9\r\n" {
		t.Errorf("to a key without limits: %q", got)
	}
	if got := string(AppendAnswerFields(nil, fields, true)); got != "retry-after: 3\r\n" {
		t.Errorf("to a key with limits: %q", got)
	}
}

func TestLargerThan(t *testing.T) {
	up := func(context int) Candidate {
		return Candidate{Upstream: &Upstream{Deployment: &catalog.Deployment{Context: context}}}
	}
	r := &run{Task: &Task{Candidates: []Candidate{up(100), up(100), up(200), up(catalog.Unlimited)}}}
	if got := r.largerThan(0, []int{1, 2, 3}); len(got) != 1 || got[0] != 2 {
		t.Errorf("%v, want the one that is known to be larger", got)
	}
}

// TestExhausted: a client is told when to come again, or that it is of no use, and never both.
func TestExhausted(t *testing.T) {
	f := func(kind sdk.Kind, said, want time.Duration) {
		t.Helper()
		r := &run{res: Result{Failure: &sdk.Failure{Kind: kind, RetryAfter: said}}}
		r.exhausted()
		if got := r.res.Failure; got.RetryAfter != want || got.Final != (want == 0) {
			t.Errorf("%v after which the provider says %v: %v, final %v, want %v", kind, said, got.RetryAfter, got.Final, want)
		}
	}
	f(sdk.UpstreamRate, time.Minute, time.Minute)
	f(sdk.UpstreamRate, 0, 0)
	f(sdk.Overloaded, time.Second, time.Second)
	f(sdk.UpstreamMoney, time.Minute, 0)
	f(sdk.UpstreamMoney, 0, 0)
}

// TestHeldSinceRouted: a request all of whose candidates are set aside between its routing and its first attempt is
// answered as one that was routed when they were.
func TestHeldSinceRouted(t *testing.T) {
	care, now := health.Defaults(), time.Now()
	type hold struct {
		kind sdk.Kind
		wait time.Duration
	}
	f := func(want sdk.Kind, wait time.Duration, limitedTo []hold, plans ...plan) {
		t.Helper()
		all := health.NewRegistry(slog.New(slog.DiscardHandler))
		r := &run{Task: &Task{Facts: &dialect.Facts{Model: "m"}}, plans: plans}
		for i, h := range limitedTo {
			name := string(rune('a' + i))
			whole, ofModel := all.Credential(name), all.Credential(name+" for m")
			if h.kind == sdk.UpstreamRate {
				ofModel.Hold(health.Outcome{Kind: h.kind, Hold: h.wait, Ended: now}, care)
			} else {
				whole.Hold(health.Outcome{Kind: h.kind, Hold: h.wait, Ended: now}, care)
			}
			r.Candidates = append(r.Candidates, Candidate{Upstream: &Upstream{Deployment: &catalog.Deployment{ID: "m/" + name}, Care: care,
				Credentials: []*Credential{{Name: name, Health: whole}}, Rates: []*health.Backend{ofModel}}})
			if len(plans) < len(limitedTo) {
				r.plans = append(r.plans, plan{known: true})
			}
		}
		r.attempts()
		got := r.res.Failure
		if got.Kind != want || got.RetryAfter > wait || got.RetryAfter < wait-time.Minute || got.Final || r.res.Tried > 0 || len(r.waiting) > 0 {
			t.Errorf("%v: %+v after %d attempts, want %v and a wait of %v", limitedTo, got, r.res.Tried, want, wait)
		}
		if wait > 0 && !strings.HasPrefix(got.Message, `no deployment of the model "m" can serve this request; m/a: `) {
			t.Errorf("%v: %q does not say what is in the way", limitedTo, got.Message)
		}
	}
	rate, money := hold{sdk.UpstreamRate, 9 * time.Minute}, hold{sdk.UpstreamMoney, 5 * time.Minute}
	f(sdk.UpstreamRate, 9*time.Minute, []hold{rate})
	f(sdk.UpstreamRate, 8*time.Minute, []hold{rate, {sdk.UpstreamRate, 8 * time.Minute}})
	f(sdk.NoTarget, 5*time.Minute, []hold{money})
	f(sdk.NoTarget, 5*time.Minute, []hold{rate, money}) // a limit that passes would not be all
	// What cannot be expressed anywhere is the client's to mend; where one deployment can, the client is to wait for it.
	lost := plan{known: true, skip: "no", failure: sdk.Fail(sdk.CannotTranslate, "no")}
	f(sdk.CannotTranslate, 0, []hold{{}}, lost)
	f(sdk.UpstreamRate, 9*time.Minute, []hold{rate, {}}, plan{known: true}, lost)
}

func TestWithoutMember(t *testing.T) {
	f := func(member, want string, segs ...string) {
		t.Helper()
		var in [][]byte
		for _, s := range segs {
			in = append(in, []byte(s))
		}
		if got := string(bytes.Join(withoutMember(in, []byte(member)), nil)); got != want {
			t.Errorf("%q without %s: %s, want %s", segs, member, got, want)
		}
		if got := strings.Join(segs, ""); string(bytes.Join(in, nil)) != got {
			t.Errorf("%q: the plan's own segments have changed", segs)
		}
	}
	f(`"o":{"u":true}`, `{"a":"long text","stream":true}`, `{"a":"`, `long text`, `","stream":true,"o":{"u":true}}`)
	f(`"o":{"u":true}`, `{"stream":true,"b":1}`, `{"stream":true,"o":{"u":true},"b":1}`)
	f(`"o":{"u":true}`, `{"stream":true}`, `{"stream":true}`)
	f("", `{"a":1,"b":2}`, `{"a":1,"b":2}`)
}
