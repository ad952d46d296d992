package pluginhost

import (
	"strings"
	"testing"
	"time"
)

// TestHangOfALateHost: where this process is late itself a plugin that hangs is given more time, but not for ever.
func TestHangOfALateHost(t *testing.T) {
	f := func(always bool, ping time.Duration, within string) {
		t.Helper()
		h := newHost(t, Options{Ping: ping})
		h.self = late(always)
		p := acquire(t, h, "good", AcquireOptions{})
		defer p.Release()
		first := pid(t, p)
		stop(t, first)
		until(t, "another process", func() bool { s := p.status(); return s.PID != first && s.State == StateRunning })
		if s := p.status(); !strings.Contains(s.Error, "hung: no sign of life within "+within) {
			t.Errorf("late %v: %s, want within %s", always, s.Error, within)
		}
	}
	f(true, 200*time.Millisecond, "1s")
	f(false, time.Second, "1s")
}
