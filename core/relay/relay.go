// Package relay carries one request to upstreams and the answer back: attempts over candidates until one of them has
// content (the commit point), then the relay of its bytes or events to the client.
//
// Until the commit point a failure moves on to the next candidate and the client sees nothing of it; after it a failure
// becomes the dialect's own error inside the stream. Which candidates there are and in which order is core/route's;
// keys and money are core/admit's and core/ledger's; what stands in the answer's head is core/gateway's.
package relay

import (
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/penstock-gateway/penstock/core/bytequeue"
	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/ledger"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/relay/client"
	"github.com/penstock-gateway/penstock/core/relay/pipe"
	"github.com/penstock-gateway/penstock/core/timing"
	"github.com/penstock-gateway/penstock/sdk"
)

// Upstream is a deployment made ready: bound to its connections, its plugin's process and its credential.
type Upstream struct {
	Deployment *catalog.Deployment
	Pool       *h1.Pool
	Plugin     *pluginhost.Process
	// Credentials authorize requests: the first that is fit for use does. None: requests carry no credential.
	Credentials []*Credential
	Errors      *fault.Classifier
	Secrets     []string // what no error text of the upstream may show to a client
	// Places says where requests go where the provider has several addresses, or its plugin itself says where it is; nil: by
	// Pool, at the provider's base URL.
	Places Places

	// Health is told of every attempt and refuses those that would be in vain; nil: nobody keeps watch. Rates, one for each
	// of Credentials, hold a credential back from this model while the provider limits its requests. Care is on which terms.
	Health *health.Backend
	Rates  []*health.Backend
	Care   *health.Settings

	noUsage atomic.Bool  // it has refused to be asked for usage
	warned  atomic.Int64 // when it was logged last that it cannot be reached, in Unix nanoseconds
}

// With gives the upstream with other credentials and their secrets, and nothing known of the rates of these.
func (u *Upstream) With(credentials []*Credential, secrets []string) *Upstream {
	return &Upstream{Deployment: u.Deployment, Pool: u.Pool, Plugin: u.Plugin, Credentials: credentials, Errors: u.Errors, Secrets: secrets,
		Places: u.Places, Health: u.Health, Care: u.Care}
}

// Only gives the upstream with the one credential of a name; nil where it has none of that name. The name of no credential is
// "".
func (u *Upstream) Only(name string) *Upstream {
	i := slices.IndexFunc(u.Credentials, func(c *Credential) bool { return c.Name == name })
	switch {
	case i < 0 && (name != "" || len(u.Credentials) > 0):
		return nil
	case len(u.Credentials) < 2:
		return u
	}
	only := u.With(u.Credentials[i:i+1:i+1], u.Secrets)
	if u.Rates != nil {
		only.Rates = u.Rates[i : i+1 : i+1]
	}
	return only
}

// Credential is one of the accounts that a provider may be asked with.
type Credential struct {
	Name    string
	Account string // the name with a mark of the secret: another secret of the name is another account
	Own     bool   // the caller's: what is not to be had with it is no fault of the deployment, nor a matter for the operator
	// Authorize gives the header lines that authorize a request; nil: there are none. What it gives stays as it is.
	Authorize func(s *Signing) ([]byte, error)
	// Refused says that an upstream did not take lines of Authorize's, and tells whether others are to be had at once; nil:
	// there are none.
	Refused func(lines []byte) bool
	// Health holds the credential back, for all models, while the provider refuses it or says that its money is spent; nil:
	// nothing does.
	Health *health.Backend
}

// Signing is what a credential may have to know of the request that it authorizes.
type Signing struct {
	Method   string
	Base     *url.URL // of the place that it goes to
	Target   string   // path and query
	Fields   []byte   // the header lines so far
	Segments [][]byte // the body
}

// URL is the absolute one. It is put together when it is asked for: a header line that is always the same needs none.
func (s *Signing) URL() string { return s.Base.Scheme + "://" + s.Base.Host + s.Target }

// Limits bound one request. A zero is no limit, but where noted.
type Limits struct {
	Attempts     int           // over all candidates; at least 1
	BackoffFirst time.Duration // before the second try of a deployment
	BackoffMax   time.Duration
	Total        time.Duration // of the whole request, from its arrival
	KeepAlive    time.Duration // silence after which a streaming client is told that we wait
	Stalled      time.Duration // that a client may take nothing of an answer
	Queue        int           // bytes kept for a slow client before the upstream is paused
	QueueTotal   int64         // bytes kept for the slow clients of all tasks that share Queues
	Whole        int64         // bytes of a whole answer that are held back until it is complete
	Lenient      bool          // members that change the meaning may be dropped
}

// Candidate is an upstream that may be asked, and on which terms.
type Candidate struct {
	*Upstream
	Terms Terms
}

// Terms say how one candidate is asked. A zero is no limit, but where noted.
type Terms struct {
	Connect      time.Duration
	FirstContent time.Duration // from the attempt's start
	Idle         time.Duration
	Total        time.Duration // of the attempt
	Commit       Commit
	HedgeAfter   time.Duration // silence after which the next candidate is asked beside this one; 0: never
	Cancel       bool          // a client that leaves ends the upstream call
	DrainTime    time.Duration // how long an answer is read on for a client that left
	DrainBytes   int64
	Tries        int    // of this candidate, the first included; 0: as many as there are attempts
	Continue     bool   // an answer that breaks off after its commit point goes on with the next candidate
	Prompt       string // by which that is asked to go on; "": by the answer so far as the beginning of its own
	Refusals     bool   // a refusal of the content may be another candidate's to serve
}

// Commit is the rule by which an answer becomes the client's: up to that point another candidate may still serve.
type Commit struct {
	Rule  CommitRule
	Bytes int64         // OnBytes: that the client would have been sent
	After time.Duration // OnTime: since the attempt began
}

// CommitRule is one of the rules. All but OnFirstByte wait for content too.
type CommitRule uint8

// The rules.
const (
	OnContent   CommitRule = iota // the first text, reasoning, refusal or tool call
	OnFirstByte                   // whatever comes first
	OnBytes
	OnTime
	OnWhole // the end of the answer: for those who want no partial ones
)

// Task is one request that is ready to be sent.
type Task struct {
	Exchange   h1.Exchange
	Dialect    dialect.Dialect
	Doc        *jsonspan.Doc // of the client's body; empty when no more is asked, after the commit point
	Facts      *dialect.Facts
	Candidates []Candidate // best first
	Limits     Limits
	Clock      *timing.Clock
	Answer     Answer
	Records    Records          // nil: calls are not recorded
	Queues     *bytequeue.Share // nil: QueueTotal does not hold
	Memory     Memory           // nil: there is always enough
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
	// Holds is told by which id a later request may continue the answer, and who then has what it continues. It is called before
	// the client has all of the answer.
	Holds(id string, u *Upstream, c *Credential)
	// AppendTrailer appends the lines of a stream's trailer.
	AppendTrailer(dst []byte, r *Result) []byte
}

// Records are told of every upstream call, so that each is accounted exactly once. Attempts that run beside each other
// tell them from several goroutines.
type Records interface {
	// Begin opens the record of an attempt and leaves its slot there, which is told when the request is sent. Its error, a
	// *sdk.Failure, refuses the attempt.
	Begin(a *Attempt) error
	// Last is told of the attempt that gives the answer, before the client is sent the last of it: a client that knows its
	// answer to be over may ask again at once, and is to find given back what the request holds. All others have ended; nil:
	// this one, too. It may be told more than once, or not at all. End follows as ever.
	Last(a *Attempt)
	// End closes a record that was opened, once, whatever became of the attempt.
	End(a *Attempt)
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
	Attempts  []Attempt // that have ended
	Tried     int       // attempts that have begun
	Skips     []Skip
	Dropped   []sdk.Note // members that translation dropped for the deployment that served
}

// Attempt is one call of an upstream.
type Attempt struct {
	Number     int // from 1
	Upstream   *Upstream
	Credential *Credential  // nil: none
	Status     int          // 0: no head came
	Failure    *sdk.Failure // nil: success
	Sent       bool         // bytes of the request may have reached the upstream
	Content    bool         // the client has been sent content of it
	Gone       bool         // the client left before its end
	Stalled    bool         // the client took nothing of it for too long
	Lost       bool         // another attempt beside it was faster
	Broke      bool         // the answer ended before its end
	Usage      sdk.Usage
	Read       int64 // bytes of the answer
	Tokens     int64 // about how many those are, where nobody says
	Started    time.Time
	First      time.Time // content; zero: there was none
	Ended      time.Time
	Slot       ledger.Slot
	Cost       int64 // nano-USD; the Records' own
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
	defer r.client.Release()
	r.ways()
	r.attempts()
	if r.res.Failure != nil && (r.mending || r.early) {
		r.tellAll()
	}
	r.res.Gone = r.res.Gone || r.client.Gone()
	r.Task = nil
	return &r.res
}

// tellAll ends a stream that has begun and that nobody can end well.
func (r *run) tellAll() {
	if r.Records != nil {
		r.Records.Last(nil)
	}
	if r.mending {
		tell(r, r.res.Failure, r.joined.Failer())
	} else {
		tell(r, r.res.Failure, nil)
	}
}

// begin makes the workspace ready, and keeps what memory it has.
func (r *run) begin(t *Task) {
	attempts, skips := r.res.Attempts[:0], r.res.Skips[:0]
	clear(r.plans)
	r.Task, r.res = t, Result{Attempts: attempts, Skips: skips}
	r.request, r.early, r.stop, r.plans = nil, false, false, r.plans[:0]
	r.joined, r.mending, r.deadline, r.waits = nil, false, time.Time{}, waits{}
	r.client.Init(t.Exchange, bytequeue.Limit{Own: t.Limits.Queue, Total: t.Limits.QueueTotal, Share: t.Queues}, t.Limits.Stalled)
	if t.Limits.Total > 0 {
		r.deadline = t.Exchange.Arrived().Add(t.Limits.Total)
	}
}

// run is a task on its way.
type run struct {
	*Task
	client   client.Client
	res      Result
	deadline time.Time    // zero: none
	request  *sdk.Request // the middle form, decoded when it is first needed
	plans    []plan
	early    bool       // committed by a keep-alive
	told     time.Time  // when a streaming client was last sent anything; before the task has come: not yet
	joined   *pipe.Seam // of an answer that may go on where a deployment breaks off
	mending  bool       // it has broken off, and nobody has gone on yet
	stop     bool       // nothing more is to be tried
	waits    waits
	fields   []byte
	tries    []tries
	waiting  []int
	actives  []*active // memory of attempts; more than one where they run beside each other
}
