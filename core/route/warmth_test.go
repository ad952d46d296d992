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
