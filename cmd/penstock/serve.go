package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/gateway"
	"github.com/penstock-gateway/penstock/core/generation"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/limits"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
	"github.com/penstock-gateway/penstock/policies"
)

// serveFlags are the flags of `penstock serve`.
type serveFlags struct {
	config, listen, adminListen, state, readyFile string
	logFormat, logLevel                           string
	drainDelay, drainTimeout                      time.Duration
	demo, watch                                   bool
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve requests",
		Long: "Serve requests. Without -c the configuration is ./penstock.yaml, then penstock/penstock.yaml in the user's folder\n" +
			"for configuration; with none, a built-in demo answers that needs no key.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), &f, cmd.OutOrStdout()) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration file (PENSTOCK_CONFIG)")
	fl.StringVar(&f.listen, "listen", "", "address for requests; beats the configuration (PENSTOCK_LISTEN)")
	fl.StringVar(&f.adminListen, "admin-listen", "", "address for the admin API; beats the configuration (PENSTOCK_ADMIN_LISTEN)")
	fl.StringVar(&f.state, "state", "", "folder for what must outlive the process (PENSTOCK_STATE)")
	fl.StringVar(&f.readyFile, "ready-file", "", "file to write addresses and made secrets to, once requests are served")
	fl.StringVar(&f.logFormat, "log-format", "", "text or json; default: text on a terminal")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fl.DurationVar(&f.drainDelay, "drain-delay", 0, "how long readiness fails before the listeners close")
	fl.DurationVar(&f.drainTimeout, "drain-timeout", 30*time.Second, "how long running requests may take at the end")
	fl.BoolVar(&f.demo, "demo", false, "serve the built-in demo even where there is a configuration")
	fl.BoolVar(&f.watch, "watch", true, "load the configuration again when its files change")
	return cmd
}

// process is a gateway with all that it runs on.
type process struct {
	flags    *serveFlags
	state    string
	log      *slog.Logger
	access   *accessLog
	loader   *fileLoader
	host     *pluginhost.Host
	store    *store.Store
	counters limits.Counters
	builder  *generation.Builder
	manager  *generation.Manager
	gateway  *gateway.Gateway
	data     *h1.Server
	admin    *http.Server
	tls      *tls.Config // nil: plain
	token    string
	key      string // made for the demo
	ready    readyFile
	tasks    sync.WaitGroup
	started  time.Time

	disabled *route.Disabled
}

// readyFile tells scripts where the gateway is.
type readyFile struct {
	API        string `json:"api"`
	Admin      string `json:"admin"`
	AdminToken string `json:"admin_token,omitempty"`
	Key        string `json:"key,omitempty"`
	Generation int64  `json:"generation"`
	PID        int    `json:"pid"`
}

// serve runs a gateway until it is told to end.
func serve(ctx context.Context, f *serveFlags, out io.Writer) error {
	p := &process{flags: f, started: time.Now()}
	if err := p.prepare(); err != nil {
		return err
	}
	defer p.access.close()
	defer p.host.Close()
	if err := p.openStore(ctx); err != nil {
		return err
	}
	defer p.store.Close()
	defer p.recordDecisions()()
	if err := p.openLedger(ctx); err != nil {
		return err
	}
	defer p.closeLedger()
	if err := p.openAdmission(); err != nil {
		return err
	}
	defer p.closeAdmission()
	if _, err := p.manager.Load(ctx, "start"); err != nil {
		return p.refused(err)
	}
	listeners, err := p.listen()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1) // before anybody knows that it serves
	defer signal.Stop(signals)
	failed := make(chan error, 2)
	p.start(listeners, failed)
	if err := p.announce(out); err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	return p.untilTold(ctx, signals, failed)
}

// prepare builds the parts; nothing is started but the access log's writer.
func (p *process) prepare() error {
	var err error
	if p.state, err = stateDir(p.flags.state); err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	if err = os.MkdirAll(p.state, 0o700); err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	asJSON, err := p.logger()
	if err != nil {
		return err
	}
	p.access = newAccessLog(os.Stderr, asJSON)
	p.loader = newLoader(p.flags)
	if p.loader.demo {
		p.key = newSecret("psk_")
		p.loader.key = p.key
	}
	p.host = newHost(p.log)
	speak := dialects()
	p.builder = &generation.Builder{Host: p.host, Dialects: speak.Names(), Policies: policies.FS, Bundled: bundledNames[:], Log: p.log}
	p.manager = generation.NewManager(p.loader, p.builder, p.log)
	p.gateway = &gateway.Gateway{Generations: p.manager, Dialects: speak, Log: p.log, Access: p.access, Version: version()}
	return nil
}

// logger makes the log; it tells whether lines are JSON.
func (p *process) logger() (asJSON bool, err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.flags.logLevel)); err != nil {
		return false, fmt.Errorf("--log-level %q: want debug, info, warn or error", p.flags.logLevel)
	}
	switch p.flags.logFormat {
	case "":
		asJSON = !term.IsTerminal(int(os.Stderr.Fd()))
	case "json":
		asJSON = true
	case "text":
	default:
		return false, fmt.Errorf("--log-format %q: want text or json", p.flags.logFormat)
	}
	if asJSON {
		p.log = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	} else {
		p.log = slog.New(newTerminalHandler(os.Stderr, level))
	}
	return asJSON, nil
}

// refused prints what is wrong with the configuration that was to be served.
func (p *process) refused(err error) error {
	var list config.Diagnostics
	if !errors.As(err, &list) {
		return &exitError{exitInvalid, err.Error()}
	}
	p.loader.render(os.Stderr, list)
	return &exitError{code: exitInvalid}
}

// listeners are the two doors.
type listeners struct{ data, admin net.Listener }

// listen opens the doors: flags beat the environment, the environment the configuration.
func (p *process) listen() (listeners, error) {
	g := p.manager.Borrow()
	defer g.Release()
	cfg := g.Config
	var l listeners
	var err error
	if p.tls, err = certificate(cfg); err != nil {
		return l, p.refused(err)
	}
	if l.data, err = listen(firstOf(p.flags.listen, os.Getenv("PENSTOCK_LISTEN"), cfg.Listen), "--listen"); err != nil {
		return l, err
	}
	if l.admin, err = listen(firstOf(p.flags.adminListen, os.Getenv("PENSTOCK_ADMIN_LISTEN"), cfg.Admin.Listen), "--admin-listen"); err != nil {
		l.data.Close()
		return l, err
	}
	p.token = cfg.Admin.Token.Reveal()
	p.ready = readyFile{API: "http://" + l.data.Addr().String(), Admin: "http://" + l.admin.Addr().String(), Key: p.key,
		Generation: p.manager.Current(), PID: os.Getpid()}
	if p.token == "" {
		p.token = newSecret("psa_")
		p.ready.AdminToken = p.token
	}
	if err := p.servers(cfg, l); err != nil {
		l.data.Close()
		l.admin.Close()
		return l, &exitError{exitFailure, err.Error()}
	}
	return l, nil
}

// listen opens a door; flag is what takes another address for it.
func listen(address, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &exitError{exitFailure, fmt.Sprintf("%v; %s takes another address, port 0 a free one", err, flag)}
	case err != nil:
		return nil, &exitError{exitFailure, err.Error()}
	}
	return l, nil
}

func firstOf(choices ...string) string {
	for _, c := range choices {
		if c != "" {
			return c
		}
	}
	return ""
}

// start serves on both doors and watches the files.
func (p *process) start(l listeners, failed chan<- error) {
	p.tasks.Go(func() {
		if err := p.serveData(l.data); err != nil {
			failed <- fmt.Errorf("data listener: %w", err)
		}
	})
	p.tasks.Go(func() {
		if err := p.admin.Serve(l.admin); err != nil && !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("admin listener: %w", err)
		}
	})
}

// announce tells people and scripts that requests are served.
func (p *process) announce(out io.Writer) error {
	admin := adminFile{Admin: p.ready.Admin, Token: p.token}
	if err := writeFile(filepath.Join(p.state, "admin.json"), admin); err != nil {
		return err
	}
	p.greet(out)
	if p.flags.readyFile != "" {
		return writeFile(p.flags.readyFile, p.ready)
	}
	return nil
}

// untilTold serves until a signal, the end of ctx, or a listener's failure.
func (p *process) untilTold(ctx context.Context, signals <-chan os.Signal, failed <-chan error) error {
	watching, stopWatching := context.WithCancel(ctx)
	p.tasks.Go(func() { p.disabled.Follow(watching) })
	p.tasks.Go(func() { p.watchMemory(watching) })
	p.tasks.Go(func() { p.builder.Health.Follow(watching, p.store) })
	if p.flags.watch && !p.loader.demo {
		p.tasks.Go(func() { p.manager.Watch(watching) })
	}
	var failure error
wait:
	for {
		select {
		case <-ctx.Done():
			break wait
		case failure = <-failed:
			break wait
		case s := <-signals:
			if reloads(s) {
				p.manager.Load(ctx, "signal")
				continue
			}
			p.log.Info("ending: running requests are finished first", "signal", s.String(), "limit", p.flags.drainTimeout)
			break wait
		}
	}
	stopWatching()
	p.drain(signals)
	if failure != nil {
		return &exitError{exitFailure, failure.Error()}
	}
	return nil
}

// reloads says whether a signal asks for a reload. A terminal that closes sends SIGHUP too: there it means the end.
func reloads(s os.Signal) bool {
	return s == syscall.SIGUSR1 || s == syscall.SIGHUP && !term.IsTerminal(int(os.Stdin.Fd()))
}

// lastHold is how long the parts of a generation may take to be let go of once no request runs: there is no drain left for it
// where requests were cut off.
const lastHold = time.Second

// drain lets running requests end, within a limit or until a second signal.
func (p *process) drain(signals <-chan os.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), p.flags.drainDelay+p.flags.drainTimeout)
	defer cancel()
	go func() {
		for s := range signals {
			if !reloads(s) {
				cancel()
			}
		}
	}()
	p.gateway.Drain()
	select {
	case <-time.After(p.flags.drainDelay):
	case <-ctx.Done():
	}
	if err := p.data.Drain(ctx); err != nil {
		p.log.Warn("ending: requests were cut off", "in_flight", p.gateway.InFlight())
		p.data.Close()
	}
	p.admin.Close()
	p.tasks.Wait()
	over, end := context.WithTimeout(context.WithoutCancel(ctx), lastHold)
	defer end()
	if err := p.manager.Close(over); err != nil {
		p.log.Warn("ending", "error", err)
	}
	os.Remove(filepath.Join(p.state, "admin.json"))
}
