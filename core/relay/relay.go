// Package relay carries one request to upstreams and the answer back: attempts over candidates until one of them has
// content (the commit point), then the relay of its bytes or events to the client.
//
// Until the commit point a failure moves on to the next candidate and the client sees nothing of it; after it a failure
// becomes the dialect's own error inside the stream. Which candidates there are and in which order is core/route's;
// keys and money are core/admit's and core/ledger's; what stands in the answer's head is core/gateway's.
package relay

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/timing"
	"github.com/penstock-gateway/penstock/sdk"
)

// Upstream is a deployment made ready: bound to its connections, its plugin's process and its credential.
type Upstream struct {
	Deployment *catalog.Deployment
	Pool       *h1.Pool
	Plugin     *pluginhost.Process
	Auth       func(client string) ([]byte, error) // header lines that authorize a request; nil: none
	Errors     *fault.Classifier
	Secrets    []string // what no error text of the upstream may show to a client
	// Moved gives pool and target where the plugin itself says where its service is, which may change when its process is
	// replaced; nil: Pool and the target as it is.
	Moved func(target string) (*h1.Pool, string)

	noUsage atomic.Bool // it has refused to be asked for usage
}

// Limits bound one request. A zero is no limit, but where noted.
type Limits struct {
	Attempts     int           // over all candidates; at least 1
	BackoffFirst time.Duration // before the second try of a deployment
	BackoffMax   time.Duration
	Connect      time.Duration
	FirstContent time.Duration
	Idle         time.Duration
	Total        time.Duration // of the whole request, from its arrival
	KeepAlive    time.Duration // silence after which a streaming client is told that we wait
	Stalled      time.Duration // that a client may take nothing of an answer
	Queue        int           // bytes kept for a slow client before the upstream is paused
	Whole        int64         // bytes of a whole answer that are held back until it is complete
	DrainTime    time.Duration // how long an answer is read on for a client that left
	DrainBytes   int64
	Cancel       bool // a client that leaves ends the upstream call
	Lenient      bool // members that change the meaning may be dropped
}

// Task is one request that is ready to be sent.
type Task struct {
	Exchange   h1.Exchange
	Dialect    dialect.Dialect
	Doc        *jsonspan.Doc // of the client's body
	Facts      *dialect.Facts
	Candidates []*Upstream // best first
	Limits     Limits
	Clock      *timing.Clock
	Answer     Answer
	RequestID  string
	Framing    string // of the client's stream: "array", or its dialect's own
	Count      bool   // tokens are to be counted, not answers given
	Backends   bool   // the timing is to name the deployments that were asked
	Log        *slog.Logger
}

// Answer writes what the gateway puts into the head and the trailer of an answer.
type Answer interface {
	// AppendFields appends "Name: value\r\n" lines for an answer that is about to be committed.
	AppendFields(dst []byte, c Committing) []byte
	// AppendTrailer appends the lines of a stream's trailer.
	AppendTrailer(dst []byte, r *Result) []byte
}

// Committing is what is known when an answer is committed.
type Committing struct {
	Stream   bool
	Early    bool       // by a keep-alive: no attempt has succeeded yet
	Upstream *Upstream  // nil where Early
	Fields   []h1.Field // the upstream's
	Result   *Result
}

// Result is what became of a task.
type Result struct {
	Failure   *sdk.Failure // nil: the answer is complete
	Committed bool         // the client has been sent a head
	Gone      bool         // the client left before the end
	Served    *Upstream
	Usage     sdk.Usage
	Reason    sdk.Reason
	Attempts  []Attempt
	Skips     []Skip
	Dropped   []sdk.Note // members that translation dropped for the deployment that served
}

// Attempt is one call of an upstream.
type Attempt struct {
	Upstream *Upstream
	Status   int          // 0: no head came
	Failure  *sdk.Failure // nil: success
	Sent     bool         // bytes of the request may have reached the upstream
	Usage    sdk.Usage
	Started  time.Time
	Ended    time.Time
}

// Skip says why a candidate was not tried.
type Skip struct {
	Deployment string
	Stage      string
	Reason     string
}

// Workspace is the memory that tasks use one after the other. The zero Workspace is ready; it is for one task at a time.
type Workspace struct{ run run }

// Run carries the task out. When the result is not committed the caller writes the failure; else all has been said. The
// result is valid until the workspace's next task.
func (w *Workspace) Run(t *Task) *Result {
	r := &w.run
	r.begin(t)
	defer r.client.release()
	r.dryRun()
	r.attempts()
	if r.early && r.res.Failure != nil {
		tell(r, r.res.Failure, nil)
	}
	r.res.Gone = r.res.Gone || r.client.gone()
	r.Task = nil
	return &r.res
}

// begin makes the workspace ready, and keeps what memory it has.
func (r *run) begin(t *Task) {
	attempts, skips := r.res.Attempts[:0], r.res.Skips[:0]
	clear(r.plans)
	r.Task, r.res = t, Result{Attempts: attempts, Skips: skips}
	r.request, r.early, r.deadline, r.plans = nil, false, time.Time{}, r.plans[:0]
	r.client.init(t.Exchange, t.Limits.Queue, t.Limits.Stalled)
	if t.Limits.Total > 0 {
		r.deadline = t.Exchange.Arrived().Add(t.Limits.Total)
	}
}

// run is a task on its way.
type run struct {
	*Task
	client   client
	res      Result
	deadline time.Time    // zero: none
	request  *sdk.Request // the middle form, decoded when it is first needed
	plans    []plan
	call     h1.Call
	early    bool // committed by a keep-alive
	fields   []byte
	edits    []jsonspan.Edit
	segs     [][]byte
	again    []int
	waiting  []int
	active   active
	seen     jsonspan.Doc // for observers
}
