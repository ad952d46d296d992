package ledger

// Outcome is how an upstream call ended.
type Outcome uint8

// The outcomes.
const (
	Success           Outcome = iota
	ClientClosed              // the client left; the answer may have been read on
	ClientStalled             // the client took nothing for too long
	UpstreamError             // no content came: the upstream answered with an error, or the connection failed
	UpstreamTruncated         // the answer ended before its end
	ErrorAfterCommit          // the answer turned into an error when the client had been shown some of it
	Timeout                   // no content came in time
	HedgeLost                 // another call for the same answer was quicker
	GuardBlocked              // a guard refused the answer
	Cached                    // no call: an earlier answer was given
	Crashed                   // the gateway failed in the middle of it
)

// outcomes are their names in rows.
var outcomes = [...]string{"success", "client_closed", "client_stalled", "upstream_error", "upstream_truncated", "error_after_commit", "timeout",
	"hedge_lost", "guard_blocked", "cached", "crashed"}

// String is the name in a row.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return outcomes[Crashed]
}

// refunded says whether a call that ended so is not charged where the upstream gave no usage.
func (o Outcome) refunded() bool { return o == UpstreamError || o.unanswered() }

// unanswered says whether the upstream may charge for what it was given up on.
func (o Outcome) unanswered() bool { return o == Timeout || o == HedgeLost }

// status says how a row came to its figures.
type status uint8

const (
	settled   status = iota // by the provider's usage
	estimated               // by our estimate
	refunded                // nothing is charged
)

var statuses = [...]string{"settled", "estimated", "refunded"}

func (s status) String() string { return statuses[min(int(s), len(statuses)-1)] }
