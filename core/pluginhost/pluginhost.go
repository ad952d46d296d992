// Package pluginhost is the life of plugin processes, and the calls to them: it finds executables, starts and greets
// them through go-plugin, configures their instances, watches them, replaces those that die or hang, and ends them when
// the last generation lets go. Calls travel over package sdk/wire in the form that package sdk gives them; whatever
// a plugin answers is checked here before anybody sees it.
//
// Which plugins there are is the configuration's to say; what becomes of a failed call is the caller's: it gets a
// [*sdk.Failure] of kind PluginFailed and tries another candidate.
package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are what a Host needs.
type Options struct {
	Log *slog.Logger
	// Bundled gives the command of a plugin that is part of the executable: mostly the executable itself with a verb of
	// its own. nil: there are none.
	Bundled  func(name string) (path string, args []string, ok bool)
	StateDir string // private folder for control sockets; "": new ones in the system's folder for such
	Debug    bool   // plugins wait for a debugger, and no time limit is short

	// Call bounds one call of the data plane; 0 is 1 s. A call takes far less; a machine that is short of processors must
	// not have its plugins taken for hung.
	Call time.Duration
	// Restart bounds how long a call waits for a process that is being started again; 0 is 1 s, which a lone crash and
	// the one after it are well within.
	Restart time.Duration
	// Start bounds a start up to the manifest; 0 is 15 s. A sound plugin takes a tenth of a second, and more than 5 s where the
	// machine is overbooked ten times or a container has a tenth of a processor: a gateway is not to refuse to start for that.
	Start time.Duration
	// Drain bounds how long a process that is let go of may go on with its calls; 0 is 30 s.
	Drain time.Duration
	// Ping is how often a process is asked for a sign of life, and how long that may take; 0 is 1 s. While the gateway is
	// short of processors itself, several may be missed.
	Ping time.Duration
}

func (o *Options) fill() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Call = cmp.Or(o.Call, time.Second)
	o.Restart = cmp.Or(o.Restart, time.Second)
	o.Start = cmp.Or(o.Start, 15*time.Second)
	o.Drain = cmp.Or(o.Drain, 30*time.Second)
	o.Ping = cmp.Or(o.Ping, time.Second)
	if o.Debug {
		o.Call, o.Start, o.Ping = time.Hour, time.Hour, time.Hour
	}
}

// Host owns all plugin processes of a gateway. A process belongs to it and not to a generation: a reload that changes
// no plugin starts none.
type Host struct {
	opt    Options
	forker *forker
	self   *lateness
	wg     sync.WaitGroup // of supervisors, and of what cleans up behind them

	mu        sync.Mutex // guards what follows, and Process.refs
	processes map[key]*Process
	closed    bool
}

// AcquireOptions say how a provider wants its process.
type AcquireOptions struct {
	Isolate string // "": shared by all that name the program; otherwise the provider's id: a process of its own
	SHA256  string // what the executable's content must be, in hexadecimal; "": whatever was found
	MTLS    bool   // certificates on the control socket: 50 ms for each start
}

// key names one process.
type key struct {
	program, isolate string
	mtls             bool
}

// New makes a host. It must be closed.
func New(o Options) *Host {
	o.fill()
	return &Host{opt: o, forker: newForker(), self: newLateness(time.Now(), schedulingWaits), processes: make(map[key]*Process)}
}

// ErrPin says that an executable is not the one that it was pinned to.
var ErrPin = errors.New("SHA-256")

var errClosed = errors.New("plugin host: closed")

// Acquire gives the process of a program, and starts it where it is not running. It returns when the process has greeted
// and its manifest is good. Each Acquire wants a Release.
func (h *Host) Acquire(ctx context.Context, prog Program, o AcquireOptions) (*Process, error) {
	if o.SHA256 != "" && !strings.EqualFold(strings.TrimPrefix(o.SHA256, "sha256:"), prog.Hash) {
		return nil, fmt.Errorf("plugin %q: %s has %w %s: want %s, as the configuration says", prog.Name, prog.Path, ErrPin, prog.Hash, o.SHA256)
	}
	p, err := h.hold(prog, key{program: prog.Key(), isolate: o.Isolate, mtls: o.MTLS})
	if err != nil {
		return nil, err
	}
	select {
	case <-p.first:
	case <-ctx.Done():
		p.Release()
		return nil, fmt.Errorf("plugin %q: %w", prog.Name, context.Cause(ctx))
	}
	if err := p.firstErr; err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// hold counts a reference. A process that could not be started for the first time is not given again.
func (h *Host) hold(prog Program, k key) (*Process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	p := h.processes[k]
	if p == nil {
		var ending, gone context.Context
		p, ending, gone = newProcess(h, k, prog)
		h.processes[k] = p
		h.wg.Go(func() { p.supervise(ending, gone) })
	}
	p.refs++
	return p, nil
}

// drop takes a process off the list, so that the next Acquire starts a new one. The caller holds mu.
func (h *Host) drop(p *Process) {
	if h.processes[p.key] == p {
		delete(h.processes, p.key)
	}
}

// Release gives a reference back. The last one ends the process after its running calls.
func (p *Process) Release() {
	h := p.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.refs--; p.refs == 0 {
		h.drop(p)
		p.end()
	}
}

// List tells of all processes, by name.
func (h *Host) List() []Status {
	h.mu.Lock()
	all := make([]*Process, 0, len(h.processes))
	for _, p := range h.processes {
		all = append(all, p)
	}
	h.mu.Unlock()
	out := make([]Status, 0, len(all))
	for _, p := range all {
		out = append(out, p.status())
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Isolate, b.Isolate), cmp.Compare(a.SHA256, b.SHA256))
	})
	return out
}

// Close ends all processes, at once and whatever they are doing, and waits until they are gone.
func (h *Host) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	for _, p := range h.processes {
		p.end()
		p.abandon()
	}
	clear(h.processes)
	h.mu.Unlock()
	h.wg.Wait()
	h.forker.close()
}

// The states of a process.
const (
	StateStarting    = "starting"    // for the first time
	StateRunning     = "running"     // calls are served
	StateRestarting  = "restarting"  // it died; calls wait for the next one within their limit
	StateQuarantined = "quarantined" // it dies again and again; calls fail at once
	StateEnding      = "ending"      // nobody holds it any more
)

// Status tells of one process.
type Status struct {
	Name     string    `json:"name"`
	Isolate  string    `json:"isolate,omitempty"`
	Version  string    `json:"version"`
	PID      int       `json:"pid"` // 0 while there is none
	Since    time.Time `json:"since,omitzero"`
	Restarts int       `json:"restarts"`
	Protocol int       `json:"protocol"`
	SHA256   string    `json:"sha256"` // of the executable; "bundled" for a plugin that penstock ships
	Path     string    `json:"path"`
	State    string    `json:"state"`
	Error    string    `json:"error,omitempty"`  // why it ended or could not be started, the last time
	Stderr   []string  `json:"stderr,omitempty"` // the last lines, bounded
}

func (p *Process) status() Status {
	p.mu.Lock()
	in := p.now
	s := Status{Name: p.prog.Name, Isolate: p.key.isolate, SHA256: p.prog.Hash, Path: p.prog.Path, State: p.state,
		Restarts: p.restarts, Since: p.since, Error: p.lastErr}
	if p.manifest != nil {
		s.Version, s.Protocol = p.manifest.Version, p.manifest.Protocol
	}
	p.mu.Unlock()
	s.Stderr = p.lines.tail()
	if in != nil {
		s.PID = in.runner.pid()
	}
	return s
}
