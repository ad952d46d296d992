package route

import (
	"fmt"
	"testing"
	"time"
)

// TestWarmth holds what is remembered of a conversation, for how long, and of how many.
func TestWarmth(t *testing.T) {
	var w Warmth
	now := time.Unix(1e9, 0)
	f := func(session string, tokens int, want string) {
		t.Helper()
		if got := fmt.Sprint(w.Of(session, tokens, now)); got != want {
			t.Errorf("%s, %d tokens: got %s, want %s", session, tokens, got, want)
		}
	}
	f("s", 100, "map[]")
	w.Note("s", "a", 50, now)
	w.Note("s", "none", 0, now)
	f("s", 100, "map[a:0.5]")
	f("s", 10, "map[a:1]")
	f("other", 100, "map[]")
	now = now.Add(3 * time.Minute)
	w.Note("s", "b", 80, now)
	f("s", 100, "map[a:0.5 b:0.8]")
	now = now.Add(3 * time.Minute)
	f("s", 100, "map[b:0.8]")
	w.Note("s", "c", 10, now) // b is taken over from before the turn
	f("s", 100, "map[b:0.8 c:0.1]")
	for i := range mostWarm {
		w.Note("s", fmt.Sprint("d", i), 10, now)
	}
	f("s", 100, "map[d0:0.1 d1:0.1 d2:0.1 d3:0.1]")
	for i := range 3 * mostSessions {
		w.Note(fmt.Sprint(i), "a", 1, now)
	}
	if n := len(w.young) + len(w.old); n > 2*mostSessions {
		t.Errorf("%d conversations are remembered, want at most %d", n, 2*mostSessions)
	}
	f("s", 100, "map[]")
}

// TestHolders holds who is remembered to have an answer, for whom, and of how many.
func TestHolders(t *testing.T) {
	var h Holders
	now, a := time.Unix(1e9, 0), Holder{"p", "a"}
	f := func(key, id string, want bool) {
		t.Helper()
		if by, ok := h.Of(key, id); ok != want || ok && by != a {
			t.Errorf("%s, %s: %v %v, want %v", key, id, by, ok, want)
		}
	}
	f("k", "1", false)
	h.Note("k", "1", a, now)
	f("k", "1", true)
	f("other", "1", false)
	h.Note("k", "2", a, now.Add(25*time.Hour))
	f("k", "1", true)
	h.Note("k", "3", a, now.Add(50*time.Hour))
	f("k", "1", false)
	f("k", "2", true)
	for i := range 3 * mostHeld {
		h.Note("n", fmt.Sprint(i), a, now.Add(51*time.Hour))
	}
	f("k", "3", false)
	if n := len(h.young) + len(h.old); n > 2*mostHeld {
		t.Errorf("%d answers are remembered, want at most %d", n, 2*mostHeld)
	}
}
