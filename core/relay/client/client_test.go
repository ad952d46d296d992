package client

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestReleaseWaitsForWhatComesAfter: what is done a while after the client left is over when Release has returned, also
// where it has just begun then; what has not begun is not done.
func TestReleaseWaitsForWhatComesAfter(t *testing.T) {
	f := func(name string, released time.Duration, want bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var c Client
			done := false
			c.After(time.Second, func() {
				time.Sleep(time.Second)
				done = true
			})
			time.Sleep(released)
			c.Release()
			if done != want {
				t.Errorf("%s: done is %v, want %v", name, done, want)
			}
		})
	}
	f("before it begins", time.Second-1, false)
	f("in its midst", time.Second+1, true)
	f("after its end", 3*time.Second, true)
}
