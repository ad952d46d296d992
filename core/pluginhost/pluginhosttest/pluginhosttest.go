// Package pluginhosttest is the conformance kit of provider plugins: it runs a plugin's program as the gateway does, over
// package pluginhost and with real processes, and says of each promise of the contract whether it is kept.
//
// It knows no provider. What a provider's requests and answers must look like, its author says by fixtures; where there
// are none, the kit checks what holds for all: nothing is lost in silence, nothing is made up, no call is late, and no
// end of a process is more than an end of a process. The command line and the forms of the report are cmd/penstock's.
package pluginhosttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// Options say which plugin is checked, and how its program is run.
type Options struct {
	Name    string
	Dirs    []string // where the executable is; none for a bundled plugin
	Bundled func(name string) (path string, args []string, ok bool)

	Serve    []string // the command that is the plugin's process
	Describe []string // the command that prints the manifest
	Hold     []string // a command that calls Hold for this plugin

	Config   []byte // of the instance, JSON; nil is {}
	Fixtures string // a folder of answers; "": none
	Update   bool   // write what the fixtures' answers mean, in place of checking it

	Report func(Result) // is told of each check when it is done; may be nil
}

// Result is the outcome of one check.
type Result struct {
	Name   string `json:"name"`
	Pass   bool   `json:"pass"`
	Reason string `json:"reason,omitempty"`
	Millis int64  `json:"ms"`
}

// kit is one run.
type kit struct {
	Options
	log       journal
	host      *pluginhost.Host
	process   *pluginhost.Process
	manifest  *sdk.Manifest
	described []byte
	results   []Result
}

// instance is the id of the provider that the kit configures.
const instance = "kit"

// hostFor makes the host of a run. It has more patience than the gateway's, so that a busy machine is not taken for a
// slow plugin: one that hangs is found all the same.
func hostFor(o Options, log *journal) *pluginhost.Host {
	return pluginhost.New(pluginhost.Options{Log: slog.New(log), Bundled: o.Bundled,
		Call: callLimit, Ping: callLimit, Start: commandLimit, Restart: commandLimit})
}

// The limits of waiting.
const (
	callLimit    = 5 * time.Second
	commandLimit = 20 * time.Second
	endLimit     = 5 * time.Second
	poll         = 5 * time.Millisecond
)

// Run makes all checks and gives their outcomes in order. Where the program cannot be started as a plugin, those that
// need it running are not made. An error is the kit's own: ctx has ended, or the fixtures cannot be read.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if o.Config == nil {
		o.Config = []byte("{}")
	}
	k := &kit{Options: o}
	k.host = hostFor(o, &k.log)
	defer k.host.Close()
	fixtures, err := readFixtures(o.Fixtures)
	if err != nil {
		return nil, err
	}
	k.check("describe", func() error { return k.describe(ctx) })
	k.check("by-hand", func() error { return k.byHand(ctx) })
	k.check("stdout", func() error { return k.stdout(ctx) })
	started := k.check("handshake", func() error { return k.handshake(ctx) })
	if started {
		defer k.process.Release()
		k.check("configure", func() error { return k.configure(ctx) })
		k.requests()
		k.answers()
		for _, f := range fixtures {
			k.check("fixture/"+f.name, func() error { return k.fixture(f) })
		}
		k.refusals(ctx)
		k.life(ctx)
	}
	return k.results, context.Cause(ctx)
}

// check makes one check, and says whether it has passed.
func (k *kit) check(name string, do func() error) bool {
	k.log.begin()
	begin := time.Now()
	err := do()
	r := Result{Name: name, Pass: err == nil, Millis: time.Since(begin).Milliseconds()}
	if err != nil {
		r.Reason = err.Error()
		if cause := k.log.cause(); cause != "" {
			r.Reason += "; " + cause
		}
		r.Reason = strings.Join(strings.Fields(r.Reason), " ") // one line
	}
	k.results = append(k.results, r)
	if k.Report != nil {
		k.Report(r)
	}
	return r.Pass
}

// handshake starts the program through the host, and compares what it says of itself with what it says to people.
func (k *kit) handshake(ctx context.Context) error {
	prog, err := k.host.Find(k.Dirs, k.Name)
	if err != nil {
		return err
	}
	p, err := k.host.Acquire(ctx, prog, pluginhost.AcquireOptions{})
	if err != nil {
		return err
	}
	k.process, k.manifest = p, p.Manifest()
	return nil
}

func (k *kit) configure(ctx context.Context) error {
	c, err := k.process.Configure(ctx, instance, k.Config)
	if err != nil {
		return err
	}
	if c.BaseURL != "" && !strings.HasPrefix(c.BaseURL, "http://") && !strings.HasPrefix(c.BaseURL, "https://") {
		return fmt.Errorf("base URL %q: want http:// or https://", c.BaseURL)
	}
	return nil
}

// status is the state of the process.
func (k *kit) status() pluginhost.Status {
	for _, s := range k.host.List() {
		if s.Name == k.Name {
			return s
		}
	}
	return pluginhost.Status{}
}

// harmless lets an error pass that says something of the request or the answer, and none that says something of the
// plugin.
func harmless(err error) error {
	var f *sdk.Failure
	if errors.As(err, &f) && f.Kind == sdk.PluginFailed {
		return err
	}
	return nil
}

// Hold starts the plugin, tells its process's id, and holds it until ctx ends. It is for the process that the kit kills
// to see what becomes of the plugin.
func Hold(ctx context.Context, o Options, started func(pid int)) error {
	k := &kit{Options: o}
	k.host = hostFor(o, &k.log)
	defer k.host.Close()
	if err := k.handshake(ctx); err != nil {
		return err
	}
	defer k.process.Release()
	started(k.status().PID)
	<-ctx.Done()
	return nil
}
