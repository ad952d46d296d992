package relay

import (
	"crypto/tls"
	"errors"
	"net"
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
		a.out.Whole = !a.Facts.Stream
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

// firstContentBy is the time by which the answer must have content.
func (a *active) firstContentBy() time.Time {
	if a.terms.FirstContent <= 0 {
		return a.until
	}
	return earlier(a.until, a.rec.Started.Add(a.terms.FirstContent))
}

// earlier gives the first of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
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

// warnEvery is how often it is logged in full that a deployment cannot be reached: in an outage each request finds out.
const warnEvery = time.Second

// unreached says to a client why a provider could not be reached, without its address, and to the log with it.
func (a *active) unreached(err error) string {
	now := time.Now().UnixNano()
	log, last := a.Log.Debug, a.up.warned.Load()
	if now-last >= int64(warnEvery) && a.up.warned.CompareAndSwap(last, now) {
		log = a.Log.Warn
	}
	log("provider: not reached", "request_id", a.RequestID, "provider", a.up.Deployment.Provider.ID, "address", a.place.Base.Host, "error", err)
	return whyUnreached(err)
}

// unsentWithin is lateness for a request of which nothing was sent.
func (a *active) unsentWithin(e *h1.TimeoutError) string {
	within := " within " + a.terms.Connect.String()
	if h1.Unreached(e) {
		a.unreached(e)
	}
	switch {
	case h1.Crowded(e):
		return "had no connection free" + within
	case e.Phase == "lookup":
		return "was not found by its name" + within
	case e.Phase == "write":
		return "took nothing of the request for " + a.terms.Idle.String()
	}
	return "did not accept a connection" + within
}

func whyUnreached(err error) string {
	var lookup *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var call *h1.CallError
	switch {
	case h1.Crowded(err):
		return "all connections to the provider are in use"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "the name of the provider's host is not known"
	case errors.As(err, &lookup):
		return "the name of the provider's host could not be looked up"
	case errors.As(err, &untrusted):
		return "the provider's certificate is not trusted"
	case errors.As(err, &call) && call.Phase == "tls":
		return "the TLS handshake with the provider failed"
	}
	return "the provider could not be reached"
}

// forget lets the client's request go when the answer is the client's and nobody will be asked again, neither to go on with it
// nor beside it: a large request is not to be kept for as long as its answer takes.
func (a *active) forget() {
	if a.joined != nil || a.race != nil {
		return
	}
	a.out.Segments, a.signing.Segments = nil, nil
	clear(a.segs[:cap(a.segs)])
	clear(a.edits[:cap(a.edits)])
	for i := range a.plans {
		p := &a.plans[i]
		p.without = nil
		if p.encoded != nil {
			p.encoded.Segments = nil
		}
	}
	a.request = nil
	a.Doc.Reset()
	a.Exchange.ForgetBody()
}
