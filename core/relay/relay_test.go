package relay

import (
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/h1"
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
		if AnswerField(name) != want {
			t.Errorf("%s passes: %v, want %v", name, !want, want)
		}
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
