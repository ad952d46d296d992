package relay

import (
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

// memory is short or not.
type memory bool

func (m memory) Short() bool { return bool(m) }

// TestKeep: while memory is short no more than so much of an answer is kept, and no other deployment is asked for it.
func TestKeep(t *testing.T) {
	f := func(m Memory, n int64, want bool) {
		t.Helper()
		a := &active{run: &run{Task: &Task{Memory: m}}}
		failure := a.keep(n)
		if kept := failure == nil; kept != want {
			t.Errorf("memory %v, %d bytes: kept %v, want %v", m, n, kept, want)
		}
		if failure != nil && (failure.RetryAfter <= 0 || follows(failure, true) != outcome{then: giveUp}) {
			t.Errorf("%+v is followed by %+v", failure, follows(failure, true))
		}
	}
	f(nil, 64<<20, true)
	f(memory(false), 64<<20, true)
	f(memory(true), mostWhenShort, true)
	f(memory(true), mostWhenShort+1, false)
	if follows(sdk.Fail(sdk.Overloaded, "a provider's"), true).then == giveUp {
		t.Error("a provider without room is the last that is asked")
	}
}
