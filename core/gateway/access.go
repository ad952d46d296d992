package gateway

import (
	"time"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/relay"
	"github.com/penstock-gateway/penstock/core/timing"
	"github.com/penstock-gateway/penstock/sdk"
)

// Entry is what is known of a finished request: no content, no key's secret.
type Entry struct {
	ID         string
	Generation int64
	Method     []byte
	Path       []byte
	Dialect    string
	Key        string // its name
	Model      string // as the client asked
	Status     int
	Stream     bool
	Failure    *sdk.Failure
	Gone       bool
	Attempts   []relay.Attempt
	Usage      sdk.Usage
	Clock      *timing.Clock
	Arrived    time.Time
}

// log tells the access log.
func (r *request) log() {
	faultpoint.Reach(faultpoint.Log)
	r.warm()
	if r.g.Access == nil || r.route.local != nil {
		return
	}
	head := r.ex.Head()
	e := &r.entry
	*e = Entry{ID: r.id, Method: head.Method, Path: head.Path(), Dialect: r.dialect.Name(), Model: r.model,
		Status: r.status, Stream: r.facts.Stream, Clock: &r.clock, Arrived: r.ex.Arrived()}
	if r.gen != nil {
		e.Generation = r.gen.Number
	}
	if r.key != nil {
		e.Key = r.key.Name
	}
	if r.result != nil {
		e.Failure, e.Gone, e.Attempts, e.Usage = r.result.Failure, r.result.Gone, r.result.Attempts, r.result.Usage
	}
	if r.broken && e.Failure == nil {
		e.Failure = ownFault()
	}
	r.g.Access.Request(e)
}
