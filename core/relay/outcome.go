package relay

import "github.com/penstock-gateway/penstock/sdk"

// next says what follows a failed attempt.
type next uint8

const (
	giveUp   next = iota // no other deployment could do better
	another              // another deployment may serve; this one is not asked again
	same                 // this deployment may be asked again, after the others
	larger               // only a deployment with a larger context may serve
	now                  // this deployment is asked again at once, in another way
	otherKey             // this deployment is asked again at once with another credential, where it has one
)

// hold says who is to be left alone for a while after a failed attempt.
type hold uint8

const (
	nobody hold = iota
	theDeployment
	theCredential
)

// outcome is a row of the table of outcomes.
type outcome struct {
	then  next
	alone next // in the place of then, where that is another credential and there is none
	hold  hold
}

// follows is the table of outcomes: what may be tried after a failure of each kind, and who is held.
//
// An attempt whose outcome is unknown (a time-out, a reset after the request was sent) is not repeated at the same
// deployment, where it may have been charged; another deployment is asked. A limit of rate or of money is an account's,
// a refused credential is that credential's: another one may serve at once.
func follows(f *sdk.Failure, sent bool) outcome {
	switch f.Kind {
	case sdk.BadRequest, sdk.ContentRefused, sdk.TooLarge, sdk.ClientGone, sdk.Internal:
		return outcome{then: giveUp}
	case sdk.ContextTooLong:
		return outcome{then: larger}
	case sdk.UpstreamRate:
		return outcome{then: otherKey, alone: same, hold: theCredential}
	case sdk.UpstreamAuth, sdk.UpstreamMoney:
		return outcome{then: otherKey, alone: another, hold: theCredential}
	case sdk.Overloaded:
		return outcome{then: same, hold: theDeployment}
	case sdk.UpstreamError:
		if f.Status >= 500 || !sent {
			return outcome{then: same, hold: theDeployment}
		}
		return outcome{then: another, hold: theDeployment}
	case sdk.UpstreamEmpty:
		return outcome{then: same, hold: theDeployment}
	case sdk.UpstreamModel, sdk.PluginFailed, sdk.Timeout:
		return outcome{then: another, hold: theDeployment}
	}
	return outcome{then: another}
}
