package credential

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestLine(t *testing.T) {
	tests := []struct {
		name         string
		auth         sdk.Auth
		values       map[string]string
		want         string
		ok, mistaken bool
	}{
		{"plain", sdk.Auth{Header: "Authorization", Format: "Bearer {api_key}"}, map[string]string{"api_key": "k"}, "Authorization: Bearer k\r\n", true, false},
		{"two members", sdk.Auth{Header: "x", Format: "{a}:{b}"}, map[string]string{"a": "1", "b": "2"}, "x: 1:2\r\n", true, false},
		{"braces in a secret", sdk.Auth{Header: "x", Format: "{a}"}, map[string]string{"a": "{b}"}, "x: {b}\r\n", true, false},
		{"no such member", sdk.Auth{Header: "x", Format: "{a}"}, map[string]string{"b": "2"}, "", false, false},
		{"empty member", sdk.Auth{Header: "x", Format: "{a}"}, map[string]string{"a": ""}, "", false, false},
		{"format cut short", sdk.Auth{Header: "x", Format: "{a"}, map[string]string{"a": "1"}, "", false, false},
		{"no header", sdk.Auth{Format: "{a}"}, map[string]string{"a": "1"}, "", false, false},
		{"line break in a secret", sdk.Auth{Header: "x", Format: "{a}"}, map[string]string{"a": "1\r\ny: 2"}, "", false, true},
	}
	for _, test := range tests {
		got, ok, err := Line(test.auth, Secret{Values: test.values})
		if string(got) != test.want || ok != test.ok || (err != nil) != test.mistaken {
			t.Errorf("%s: Line = %q, %v, %v; want %q, %v", test.name, got, ok, err, test.want, test.ok)
		}
		if err != nil && strings.Contains(err.Error(), "y: 2") {
			t.Errorf("%s: error %q shows the secret", test.name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	f := func(a sdk.Auth, want string, members ...string) {
		t.Helper()
		s := Secret{Values: map[string]string{"empty": ""}}
		for _, name := range members {
			s.Values[name] = "v"
		}
		got := ""
		if err := Check(a, s); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v with %q: %q, want %q", a, members, got, want)
		}
	}
	plain := sdk.Auth{Header: "x", Format: "Key {a}:{empty}"}
	f(plain, "want a and empty", "a")
	f(sdk.Auth{Header: "x", Format: "{a}"}, "", "a", "b")
	f(sdk.Auth{Header: "x", Format: "constant"}, "")
	f(sdk.Auth{Header: "x", Format: "{a"}, "want {a", "a")
	signs := sdk.Auth{Kind: "signer", Header: "x", Format: "{a}", Members: [][]string{{"id", "key"}, {"token"}}}
	f(signs, "want a, or id and key, or token", "id")
	f(signs, "", "id", "key")
	f(signs, "", "token")
	f(signs, "", "a")
	f(sdk.Auth{Kind: "token", Members: [][]string{{"empty"}}}, "want empty")
	f(sdk.Auth{Kind: "token", Header: "x", Format: "{a}"}, "")
}

func TestMark(t *testing.T) {
	of := func(values map[string]string) string {
		return Secret{Provider: "p", Name: "main", Values: values}.Mark()
	}
	a := of(map[string]string{"id": "a", "key": "b"})
	if again := (Secret{Provider: "q", Values: map[string]string{"key": "b", "id": "a"}}).Mark(); again != a || len(a) != 4 {
		t.Errorf("marks %q and %q of one secret, want the same of four digits", a, again)
	}
	for _, other := range []map[string]string{{"id": "a", "key": "c"}, {"id": "ab", "key": ""}, {"id": "a"}, nil} {
		if of(other) == a {
			t.Errorf("%v has the mark of another secret", other)
		}
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		header sdk.Header
		want   string
		bad    string
	}{
		{sdk.Header{Name: "X-Amz-Date", Value: "20260102T030405Z"}, "X-Amz-Date: 20260102T030405Z\r\n", ""},
		{sdk.Header{Name: "Content-Length", Value: "0"}, "", "gateway's"},
		{sdk.Header{Name: "HOST", Value: "h"}, "", "gateway's"},
		{sdk.Header{Name: "a b", Value: "h"}, "", "field name"},
		{sdk.Header{Name: "", Value: "h"}, "", "field name"},
		{sdk.Header{Name: "a", Value: "h\nb: c"}, "", "control character"},
	}
	for _, test := range tests {
		got, err := lines([]sdk.Header{test.header})
		switch {
		case test.bad == "" && (err != nil || string(got) != test.want):
			t.Errorf("lines(%v) = %q, %v; want %q", test.header, got, err, test.want)
		case test.bad != "" && (err == nil || !strings.Contains(err.Error(), test.bad)):
			t.Errorf("lines(%v): error %v, want one that says %q", test.header, err, test.bad)
		}
	}
}

// issuer is a plugin that numbers what it gives.
type issuer struct {
	lifetime time.Duration
	takes    time.Duration
	asked    atomic.Int32
	refuses  atomic.Bool

	mu   sync.Mutex
	last sdk.AuthRequest // guarded by mu
}

func (i *issuer) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	n := i.asked.Add(1)
	i.mu.Lock()
	i.last = r
	i.mu.Unlock()
	select {
	case <-time.After(i.takes):
	case <-ctx.Done():
		return sdk.Authorization{}, ctx.Err()
	}
	if i.refuses.Load() {
		return sdk.Authorization{}, errors.New("no")
	}
	return sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: "Bearer " + strconv.Itoa(int(n))}}, Lifetime: i.lifetime}, nil
}

func bearer(n int) string { return "Authorization: Bearer " + strconv.Itoa(n) + "\r\n" }

var secret = Secret{Provider: "p", Name: "main", Values: map[string]string{"key": "k"}}

// newToken makes a token that is closed at the test's end, within its bubble.
func newToken(i *issuer) *Token { return NewToken(i, secret, slog.New(slog.DiscardHandler)) }

// expect asks for the lines and how long that took.
func expect(t *testing.T, token *Token, want string, takes time.Duration) {
	t.Helper()
	began := time.Now()
	got, err := token.Fields()
	if err != nil || string(got) != want || time.Since(began) != takes {
		t.Errorf("Fields = %q, %v after %v; want %q after %v", got, err, time.Since(began), want, takes)
	}
}

func TestFirstUseIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: time.Hour, takes: time.Second}
		token := newToken(i)
		defer token.Close()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { expect(t, token, bearer(1), time.Second) })
		}
		all.Wait()
		expect(t, token, bearer(1), 0)
		if diff := cmp.Diff(sdk.AuthRequest{Provider: "p", Credential: secret.Values}, i.last); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: time.Hour, takes: 5 * time.Second}
		token := newToken(i)
		defer token.Close()
		began := time.Now()
		expect(t, token, bearer(1), 5*time.Second)
		until := func(at time.Duration) { time.Sleep(time.Until(began.Add(at))) }
		// The life counts from the question, the timer from the answer: five seconds later.
		until(55*time.Minute + 4*time.Second)
		if n := i.asked.Load(); n != 1 {
			t.Fatalf("asked %d times five minutes before the end, want 1", n)
		}
		until(55*time.Minute + 7*time.Second)
		if n := i.asked.Load(); n != 2 {
			t.Fatalf("asked %d times during the renewal, want 2", n)
		}
		expect(t, token, bearer(1), 0) // nobody waits for it
		until(55*time.Minute + 11*time.Second)
		expect(t, token, bearer(2), 0)
	})
}

func TestUnusedTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: time.Hour}
		token := newToken(i)
		defer token.Close()
		expect(t, token, bearer(1), 0)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := i.asked.Load(); n != 2 {
			t.Errorf("asked %d times in a day without requests, want 2: the first, and one renewal since it had been used", n)
		}
		expect(t, token, bearer(3), 0)
	})
}

func TestFailureIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: time.Hour}
		i.refuses.Store(true)
		token := newToken(i)
		defer token.Close()
		fails := func(asked int32) {
			t.Helper()
			if _, err := token.Fields(); err == nil || err.Error() != "no" {
				t.Errorf("Fields: error %v, want the plugin's", err)
			}
			if n := i.asked.Load(); n != asked {
				t.Errorf("asked %d times, want %d", n, asked)
			}
		}
		fails(1)
		fails(1)
		time.Sleep(firstPause)
		fails(2)
		time.Sleep(firstPause)
		fails(2) // the pause has doubled
		time.Sleep(firstPause)
		i.refuses.Store(false)
		expect(t, token, bearer(3), 0)
	})
}

func TestFailedRenewalIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: time.Hour}
		token := newToken(i)
		defer token.Close()
		expect(t, token, bearer(1), 0)
		i.refuses.Store(true)
		time.Sleep(58 * time.Minute)
		expect(t, token, bearer(1), 0)
		tried := int(i.asked.Load())
		if tried < 4 {
			t.Errorf("asked %d times in three minutes of failure, want more", tried)
		}
		i.refuses.Store(false)
		time.Sleep(time.Minute + time.Second)
		expect(t, token, bearer(tried+1), 0)
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := newToken(&issuer{lifetime: time.Hour, takes: time.Hour})
		defer token.Close()
		began := time.Now()
		if _, err := token.Fields(); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != patience {
			t.Errorf("Fields: error %v after %v, want the end of patience after %v", err, time.Since(began), patience)
		}
	})
}

func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := newToken(&issuer{lifetime: time.Hour})
		defer token.Close()
		first, err := token.Fields()
		if err != nil {
			t.Fatal(err)
		}
		if !token.Refused(first) {
			t.Error("the first token is not given up")
		}
		expect(t, token, bearer(2), 0)
		if !token.Refused(first) { // by another request, meanwhile
			t.Error("no other token after a refusal of the last one")
		}
		if token.Refused([]byte(bearer(2))) {
			t.Error("a second token is given up within a minute")
		}
		expect(t, token, bearer(2), 0)
		time.Sleep(giveUpEvery)
		if !token.Refused([]byte(bearer(2))) {
			t.Error("a second token is not given up after a minute")
		}
		expect(t, token, bearer(3), 0)
	})
}

func TestUntilRenewal(t *testing.T) {
	tests := []struct{ lifetime, want time.Duration }{
		{time.Hour, 55 * time.Minute},
		{5*time.Minute + 2*time.Second, 2 * time.Second},
		{5 * time.Minute, 150 * time.Second},
		{time.Minute, 30 * time.Second},
		{0, time.Second},
	}
	for _, test := range tests {
		if got := untilRenewal(test.lifetime); got != test.want {
			t.Errorf("untilRenewal(%v) = %v, want %v", test.lifetime, got, test.want)
		}
	}
}

func TestCloseEndsAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := newToken(&issuer{lifetime: time.Hour, takes: time.Hour})
		failed := make(chan error)
		go func() {
			_, err := token.Fields()
			failed <- err
		}()
		synctest.Wait()
		token.Close()
		if err := <-failed; err == nil {
			t.Error("Fields gave lines of a fetch that was ended")
		}
	})
}

func TestTokensAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all Tokens
		one, other := &issuer{lifetime: time.Hour}, &issuer{lifetime: time.Hour}
		log := slog.New(slog.DiscardHandler)
		a, freeA := all.Acquire(one, secret, log)
		b, freeB := all.Acquire(one, Secret{Provider: "p", Name: "renamed", Values: map[string]string{"key": "k"}}, log)
		c, freeC := all.Acquire(one, Secret{Provider: "p", Values: map[string]string{"key": "other"}}, log)
		d, freeD := all.Acquire(other, secret, log)
		if a != b || a == c || a == d {
			t.Errorf("tokens %p, %p, %p, %p: want the first two the same", a, b, c, d)
		}
		freeA()
		expect(t, b, bearer(1), 0)
		freeB()
		freeC()
		freeD()
		if len(all.all) != 0 {
			t.Errorf("%d tokens are left", len(all.all))
		}
	})
}

func TestSigner(t *testing.T) {
	i := &issuer{}
	s := NewSigner(i, secret)
	q := Request{Method: "POST", URL: "https://h/model/m/invoke", Fields: []byte("Accept: a/b\r\nX-Y:z: 1\r\n"),
		Segments: [][]byte{[]byte("he"), nil, []byte("llo")}}
	for n := range 2 {
		if got, err := s.Fields(q); err != nil || string(got) != bearer(n+1) {
			t.Errorf("Fields = %q, %v; want %q: each request is signed", got, err, bearer(n+1))
		}
	}
	want := sdk.AuthRequest{Provider: "p", Credential: secret.Values, Method: q.Method, URL: q.URL,
		Headers:     []sdk.Header{{Name: "Accept", Value: "a/b"}, {Name: "X-Y", Value: "z: 1"}},
		PayloadHash: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}
	if diff := cmp.Diff(want, i.last); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	i.refuses.Store(true)
	if _, err := s.Fields(q); err == nil {
		t.Error("a refusal gave lines")
	}
}

func TestSignerKeepsWhatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{lifetime: time.Minute}
		s := NewSigner(i, secret)
		for _, test := range []struct {
			after time.Duration
			want  string
		}{{0, bearer(1)}, {59 * time.Second, bearer(1)}, {2 * time.Second, bearer(2)}} {
			time.Sleep(test.after)
			if got, err := s.Fields(Request{}); err != nil || string(got) != test.want {
				t.Errorf("Fields = %q, %v; want %q", got, err, test.want)
			}
		}
	})
}

func BenchmarkTokenFields(b *testing.B) {
	token := NewToken(&issuer{lifetime: time.Hour}, secret, slog.New(slog.DiscardHandler))
	defer token.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := token.Fields(); err != nil {
			b.Fatal(err)
		}
	}
}
