package relay

import (
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Memory tells whether more of it is in use than may be. It is asked by many goroutines.
type Memory interface{ Short() bool }

// mostWhenShort is how much of one answer may have to be kept while memory is short. An event is kept until it is whole, and
// a whole answer until its end: a thousand of their largest would be all the memory that there is, and what turns new requests
// away does not stop those that are under way.
const mostWhenShort = 1 << 20

// shortWait is when a client that was given up may come again.
const shortWait = time.Second

// keep says whether n bytes of an answer may be kept until more of it has come.
func (a *active) keep(n int64) *sdk.Failure {
	if n <= mostWhenShort || a.Memory == nil || !a.Memory.Short() {
		return nil
	}
	return &sdk.Failure{Kind: sdk.Shedding, RetryAfter: shortWait,
		Message: "the gateway is short of memory and keeps no more than 1 MiB of an answer that is not complete"}
}
