package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-gateway/penstock/core/h1"
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

// closing is an exchange whose server is closed when its test says so.
type closing struct {
	h1.Exchange
	do func()
}

// AtClose implements closes.
func (c *closing) AtClose(do func()) (cancel func() bool) {
	c.do = do
	return func() bool {
		waits := c.do != nil
		c.do = nil
		return waits
	}
}

// TestCloseComesBefore: a server that is closed does not wait for what comes after a while: it is done then, once; and not when
// Release has returned.
func TestCloseComesBefore(t *testing.T) {
	for _, closed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ex := new(closing)
			c := Client{ex: ex}
			done := 0
			c.After(time.Hour, func() { done++ })
			if do := ex.do; closed {
				ex.do = nil
				do()
			}
			begun := time.Now()
			c.Release()
			time.Sleep(2 * time.Hour)
			want := 0
			if closed {
				want = 1
			}
			if done != want || ex.do != nil || time.Since(begun) != 2*time.Hour {
				t.Errorf("closed %v: done %d times, want %d", closed, done, want)
			}
		})
	}
}
