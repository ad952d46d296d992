package reach

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/sdk"
)

// Probe asks a provider's service from time to time whether it is there. A failure counts for each of Backends as one of a
// request's would. A success counts for a backend that is set aside alone, as its one probe: what the service says of
// itself is no reason to forget failures of requests that are just being counted.
type Probe struct {
	Every    time.Duration // with a tenth of jitter, and when a backend may come back; 0: never
	Get      string        // the target of a GET; "": only a connection is opened
	Fields   []byte        // lines of the GET
	Connect  time.Duration // limit to open a connection; 0: the probe's own
	Backends []*health.Backend
	Care     *health.Settings
	// Authorize gives the lines that authorize the GET; nil: there are none.
	Authorize func(p Place, fields []byte) ([]byte, error)
}

// Limits of a probe.
const (
	probeLimit = 10 * time.Second
	probeBytes = 1 << 20                // of an answer, beyond which its connection is given up
	tickEvery  = 100 * time.Millisecond // is looked whether a probe is due: a backend may be set aside, and be due, at any time
)

// keepProbing probes until ctx ends.
func (a *attendant) keepProbing(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	regular, told := time.Now(), true
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p, now := &a.upkeep.Load().Probe, time.Now()
		due := !now.Before(regular)
		if !due && !(told && p.backDue(now)) { // another that says nothing again is not worth it
			continue
		}
		select {
		case a.network.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		told = a.probe(ctx)
		<-a.network.slots
		if due {
			regular = time.Now().Add(jitter(p.Every))
		}
	}
}

// backDue says whether a backend that is set aside may come back now.
func (p *Probe) backDue(now time.Time) bool {
	for _, b := range p.Backends {
		if due, ok := b.ProbeDue(now, p.Care); ok && !due.After(now) && p.tells(b, now) {
			return true
		}
	}
	return false
}

// tells says whether the probe says something of a backend: of one that answers, and is set aside for how, a connection
// says nothing.
func (p *Probe) tells(b *health.Backend, now time.Time) bool {
	s := b.Look(now)
	return p.Get != "" || s.Phase == health.Closed || s.Unsent
}

// probe makes one probe, and says whether it told anybody anything.
func (a *attendant) probe(ctx context.Context) bool {
	u := a.upkeep.Load()
	p := &u.Probe
	now := time.Now()
	var passes []health.Pass
	for _, b := range p.Backends {
		if !p.tells(b, now) {
			continue
		}
		if pass, ok := b.Probe(now, p.Care); ok {
			passes = append(passes, pass)
		}
	}
	if len(passes) == 0 {
		return false
	}
	o := u.probe(ctx)
	if ctx.Err() != nil {
		o = health.Outcome{Neutral: true}
	}
	o.Ended = time.Now()
	for i := range passes {
		one := o
		one.Neutral = o.Neutral || o.OK && !passes[i].Probing()
		passes[i].Done(one)
	}
	a.network.Log.Debug("probe", "provider", u.Provider, "ok", o.OK, "status", o.Status, "took", o.Ended.Sub(now))
	return !o.Neutral
}

// probe asks the service. An answer that is neither a success nor a fault of the service says nothing: the credential may be
// refused, or the path be none of its.
func (u *Upkeep) probe(ctx context.Context) health.Outcome {
	p := &u.Probe
	at := u.Place(p.Get)
	if p.Get == "" {
		if p.Connect > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.Connect)
			defer cancel()
		}
		_, err := at.Pool.Measure(ctx)
		return outcome(err)
	}
	status, err := p.get(ctx, at)
	switch {
	case err != nil:
		return outcome(err)
	case status >= 200 && status <= 299:
		return health.Outcome{OK: true, Status: status}
	case status >= 500:
		return health.Outcome{Kind: sdk.UpstreamError, Status: status}
	}
	return health.Outcome{Neutral: true, Status: status}
}

// errUnauthorized says that a GET could not be authorized, which is no word of the service.
var errUnauthorized = errors.New("not authorized")

func outcome(err error) health.Outcome {
	var late *h1.TimeoutError
	switch {
	case err == nil:
		return health.Outcome{OK: true}
	case errors.Is(err, errUnauthorized), errors.Is(err, h1.ErrAborted), h1.Crowded(err):
		return health.Outcome{Neutral: true}
	case errors.As(err, &late):
		return health.Outcome{Kind: sdk.Timeout, Unsent: h1.NotSent(err)}
	}
	return health.Outcome{Kind: sdk.UpstreamError, Unsent: h1.NotSent(err)}
}

// get makes a request and reads the answer, so that its connection serves on.
func (p *Probe) get(ctx context.Context, at Place) (status int, err error) {
	fields := append([]byte("Accept: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: penstock\r\n"), p.Fields...)
	if p.Authorize != nil {
		lines, err := p.Authorize(at, fields)
		if err != nil {
			return 0, errUnauthorized
		}
		fields = append(fields, lines...)
	}
	var call h1.Call
	defer call.Close()
	defer context.AfterFunc(ctx, call.Abort)()
	by := time.Now().Add(probeLimit)
	if err := at.Pool.Do(&call, &h1.Outgoing{Method: "GET", Target: at.Target, Fields: fields}, h1.Limits{Connect: p.Connect, Total: by}); err != nil {
		return 0, err
	}
	for n := 0; n < probeBytes; {
		b, err := call.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		n += len(b)
	}
	return call.Status(), nil
}
