package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Process is a plugin's process from its first start to its last end. What runs under it is replaced when it dies or
// hangs; its users notice by the calls that fail and by nothing else. Its methods may be called from any goroutine.
type Process struct {
	host  *Host
	key   key
	prog  Program
	log   *slog.Logger
	lines *lines
	refs  int // guarded by host.mu

	first    chan struct{} // closed when the first start has an outcome
	firstErr error
	end      context.CancelFunc // nobody holds it any more
	abandon  context.CancelFunc // nor are its calls to be waited for

	mu        sync.Mutex // guards what follows
	now       *instance  // nil while there is none
	change    chan struct{}
	state     string
	lastErr   string
	starts    time.Time // when it is started again, or was
	manifest  *sdk.Manifest
	instances map[string]configuration // by the instance's id
	told      int                      // counts configurations
	restarts  int
	since     time.Time
	draining  bool
	calls     int           // and answers that are being decoded
	idle      chan struct{} // closed when calls has come to 0 after the end has begun
}

// configuration is what an instance was configured with, to be told to the next process as well, and what that or this
// one has answered.
type configuration struct {
	config []byte
	reply  sdk.Configured
	at     int // its place in the order of configuring
}

// instancesKept bounds what a restart repeats. Each reload may bring new instances; those of long ago serve nobody.
const instancesKept = 256

// remember keeps the configuration of an instance.
func (p *Process) remember(id string, config []byte, reply sdk.Configured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told++
	p.instances[id] = configuration{slices.Clone(config), reply, p.told}
	if len(p.instances) > instancesKept {
		delete(p.instances, inOrder(p.instances)[0])
	}
}

// inOrder gives the ids of instances in the order of their configuring.
func inOrder(m map[string]configuration) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[a].at - m[b].at })
}

// newProcess makes a process that supervise is to be started for, with the contexts that end and abandon cancel.
func newProcess(h *Host, k key, prog Program) (p *Process, ending, gone context.Context) {
	p = &Process{host: h, key: k, prog: prog, first: make(chan struct{}), change: make(chan struct{}),
		state: StateStarting, idle: make(chan struct{}), instances: make(map[string]configuration)}
	p.log = h.opt.Log.With("plugin", prog.Name)
	p.lines = &lines{emit: p.logLine}
	ending, p.end = context.WithCancel(context.Background())
	gone, p.abandon = context.WithCancel(context.Background())
	return p, ending, gone
}

// Manifest is what the plugin says of itself. It is not to be changed.
func (p *Process) Manifest() *sdk.Manifest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.manifest
}

// supervise starts the process and starts it again until nobody holds it.
func (p *Process) supervise(ending, gone context.Context) {
	var died deaths
	in, err := p.launch(ending)
	started := err == nil
	p.firstErr = err
	close(p.first)
	for started {
		if err == nil {
			p.log.Info("plugin started", "pid", in.runner.pid(), "version", p.Manifest().Version)
			err = p.watch(in, ending, gone)
			p.retire(in)
		}
		if ending.Err() == nil {
			p.rest(ending, err, &died)
		}
		if ending.Err() != nil {
			break
		}
		in, err = p.launch(ending)
	}
	p.host.mu.Lock()
	p.host.drop(p)
	p.host.mu.Unlock()
	p.set(StateEnding, "")
	p.end()
	p.abandon()
}

// rest waits for the time of the next start.
func (p *Process) rest(ending context.Context, err error, died *deaths) {
	wait, loop := died.add(time.Now())
	state := StateRestarting
	if loop != "" {
		state = StateQuarantined
		err = fmt.Errorf("crash loop: %s; the last time: %v", loop, err)
	}
	p.log.Error("plugin ended", "error", err, "state", state, "next_start", wait)
	p.mu.Lock()
	p.starts = time.Now().Add(wait)
	p.mu.Unlock()
	p.set(state, err.Error())
	select {
	case <-time.After(wait):
	case <-ending.Done():
	}
}

// launch starts a process, and configures the instances that the last one had.
func (p *Process) launch(ctx context.Context) (*instance, error) {
	ctx, cancel := context.WithTimeout(ctx, p.host.opt.Start)
	defer cancel()
	in, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	known := maps.Clone(p.instances)
	p.mu.Unlock()
	for _, id := range inOrder(known) {
		reply, err := in.configure(ctx, id, known[id].config)
		if err != nil {
			in.end(p.host)
			return nil, fmt.Errorf("plugin %q: provider %q: %w", p.prog.Name, id, err)
		}
		known[id] = configuration{known[id].config, reply, known[id].at}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.instances, known)
	if p.manifest != nil {
		p.restarts++
	}
	p.manifest, p.now, p.since = in.manifest, in, time.Now()
	p.announce(StateRunning)
	return in, nil
}

// watch returns when the process has died or hangs, with the reason, or when nobody wants it any more and its calls are
// done.
func (p *Process) watch(in *instance, ending, gone context.Context) error {
	tick := time.NewTicker(p.host.opt.Ping)
	defer tick.Stop()
	for {
		select {
		case <-in.plane.Done():
			return in.reason()
		case <-tick.C:
			if err := in.alive(p.host.opt.Ping); err != nil {
				return err
			}
		case <-ending.Done():
			p.drain(gone)
			return nil
		}
	}
}

// drain waits for the calls that are running.
func (p *Process) drain(gone context.Context) {
	p.mu.Lock()
	p.draining = true
	calls := p.calls
	p.announce(StateEnding)
	p.mu.Unlock()
	if calls == 0 {
		return
	}
	limit := time.NewTimer(p.host.opt.Drain)
	defer limit.Stop()
	select {
	case <-p.idle:
	case <-limit.C:
		p.log.Warn("plugin ended with calls running", "waited", p.host.opt.Drain)
	case <-gone.Done():
	}
}

// retire takes a process out of service and ends it.
func (p *Process) retire(in *instance) {
	p.mu.Lock()
	p.now = nil
	state := StateRestarting
	if p.draining {
		state = StateEnding
	}
	p.announce(state)
	p.mu.Unlock()
	in.end(p.host)
}

func (p *Process) set(state, lastErr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lastErr != "" {
		p.lastErr = lastErr
	}
	p.announce(state)
}

// announce wakes those that wait for a change. The caller holds mu.
func (p *Process) announce(state string) {
	p.state = state
	close(p.change)
	p.change = make(chan struct{})
}

// begin counts a call; every begin wants a finish.
func (p *Process) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
}

func (p *Process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls--; p.calls == 0 && p.draining {
		select {
		case <-p.idle: // by an earlier call
		default:
			close(p.idle)
		}
	}
}

// ready gives what runs now. While the process is started again it waits, until the limit; not where that will surely be over
// before.
func (p *Process) ready(limit time.Duration) (*instance, error) {
	var late *time.Timer
	var until time.Time
	for {
		p.mu.Lock()
		in, state, change, why, starts := p.now, p.state, p.change, p.lastErr, p.starts
		p.mu.Unlock()
		switch {
		case in != nil && !in.dead():
			return in, nil
		case in != nil:
			p.lost(in)
			continue
		case state == StateQuarantined:
			return nil, p.failure("is quarantined", why)
		case state == StateEnding:
			return nil, p.failure("has ended", why)
		}
		if late == nil {
			until, late = time.Now().Add(limit), time.NewTimer(limit)
			defer late.Stop()
		}
		if starts.After(until) {
			return nil, p.failure("is being restarted", why)
		}
		select {
		case <-change:
		case <-late.C:
			return nil, p.failure("is being restarted", why)
		}
	}
}

// failure is the error of a call that found no process or lost it. The client is told no cause.
func (p *Process) failure(fact, why string) *sdk.Failure {
	if why != "" {
		p.log.Debug("call failed", "fact", fact, "cause", why)
	}
	return sdk.Fail(sdk.PluginFailed, fmt.Sprintf("plugin %q %s", p.prog.Name, fact))
}
