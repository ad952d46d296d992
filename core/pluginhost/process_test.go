package pluginhost

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadyWaitsForWhatMayCome: a call waits for a process that is started again within its limit, and for no other.
func TestReadyWaitsForWhatMayCome(t *testing.T) {
	f := func(state string, starts, waits time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			p := &Process{state: state, starts: begun.Add(starts), change: make(chan struct{}), log: slog.New(slog.DiscardHandler)}
			if _, err := p.ready(time.Second); err == nil || time.Since(begun) != waits {
				t.Errorf("%s, to be started in %v: %v after %v, want an error after %v", state, starts, err, time.Since(begun), waits)
			}
		})
	}
	f(StateRestarting, 2*time.Second, 0)
	f(StateRestarting, time.Second, time.Second)
	f(StateRestarting, -time.Hour, time.Second)
	f(StateQuarantined, 0, 0)
}
