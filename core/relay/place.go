package relay

import (
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/reach"
	"github.com/penstock-gateway/penstock/sdk"
)

// Places says where requests go when that may change.
type Places interface {
	// Place gives the place of a target that was made for the provider's base URL.
	Place(target string) reach.Place
	// Unreached is told of a place to which no connection could be opened, and says whether Place now gives another.
	Unreached(at reach.Place, err error) bool
}

// mostPlaces bounds the places that one attempt tries to reach.
const mostPlaces = 4

// send sends the request: where the place cannot be reached, to the next one, as long as there is time.
func (a *active) send() *sdk.Failure {
	for left := mostPlaces - 1; ; left-- {
		if f := a.outgoing(); f != nil {
			return f
		}
		faultpoint.Reach(faultpoint.Send)
		a.rec.Slot.Sent()
		lim := h1.Limits{Connect: a.terms.Connect, FirstByte: a.terms.FirstContent, Idle: a.terms.Idle, Total: a.firstContentBy()}
		err := a.place.Pool.Send(&a.call, &a.out, lim)
		switch {
		case err == nil:
			return nil
		case left == 0 || !a.elsewhere(err):
			return a.transport(err)
		}
	}
}

// elsewhere says whether there is another place for a request that could not be sent.
func (a *active) elsewhere(err error) bool {
	if a.up.Places == nil || !h1.Unreached(err) || a.lost.Load() || a.client.Gone() {
		return false
	}
	if by := a.firstContentBy(); !by.IsZero() && !time.Now().Before(by) {
		return false // the request's time was over, not the place's
	}
	return a.up.Places.Unreached(a.place, err)
}
