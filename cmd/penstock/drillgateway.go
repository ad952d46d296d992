package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/plugins/demo"
)

// drilled is the gateway of a drill: this program again, in a folder of its own.
type drilled struct {
	dir   string
	cmd   *exec.Cmd
	ready readyFile
	ended chan error
}

// Limits of a drill's gateway.
const (
	drillStart = 20 * time.Second
	drillEnd   = 10 * time.Second
)

// startGateway starts a gateway and waits until it serves. It ends with close, and with ctx.
func startGateway(ctx context.Context, config []byte) (*drilled, error) {
	dir, err := os.MkdirTemp("", "penstock-drill-")
	if err != nil {
		return nil, err
	}
	g := &drilled{dir: dir, ended: make(chan error, 1)}
	if err := g.start(ctx, config); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return g, nil
}

func (g *drilled) start(ctx context.Context, config []byte) error {
	self, err := executable()
	if err != nil {
		return err
	}
	if err := os.WriteFile(g.file(), config, 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(g.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	ready := filepath.Join(g.dir, "ready.json")
	g.cmd = exec.CommandContext(ctx, self, "serve", "-c", g.file(), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--state", filepath.Join(g.dir, "state"), "--ready-file", ready, "--watch=false", "--log-format", "text")
	g.cmd.Stdout, g.cmd.Stderr = log, log
	g.cmd.Cancel = func() error { return g.cmd.Process.Signal(syscall.SIGTERM) }
	g.cmd.WaitDelay = drillEnd
	if err := g.cmd.Start(); err != nil {
		return err
	}
	go func() { g.ended <- g.cmd.Wait() }()
	return g.await(ready)
}

func (g *drilled) file() string { return filepath.Join(g.dir, "penstock.yaml") }

// await waits for the gateway's word that it serves.
func (g *drilled) await(ready string) error {
	late := time.NewTimer(drillStart)
	defer late.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if text, err := os.ReadFile(ready); err == nil && json.Unmarshal(text, &g.ready) == nil {
				return nil
			}
		case err := <-g.ended:
			return fmt.Errorf("the gateway has ended (%v):\n%s", err, g.said())
		case <-late.C:
			_ = g.cmd.Process.Kill() // it may have ended
			<-g.ended
			return fmt.Errorf("the gateway does not serve within %v:\n%s", drillStart, g.said())
		}
	}
}

// said is the end of what the gateway has logged.
func (g *drilled) said() string {
	text, err := os.ReadFile(filepath.Join(g.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4096):])
}

// close ends the gateway and waits for it.
func (g *drilled) close() error {
	defer os.RemoveAll(g.dir)
	_ = g.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case err := <-g.ended:
		if err != nil {
			return fmt.Errorf("the gateway has ended badly (%v):\n%s", err, g.said())
		}
		return nil
	case <-time.After(drillEnd):
		_ = g.cmd.Process.Kill()
		<-g.ended
		return fmt.Errorf("the gateway did not end within %v:\n%s", drillEnd, g.said())
	}
}

// admin asks the gateway's admin API.
func (g *drilled) admin(ctx context.Context, method, path string, body []byte, into any) error {
	to := adminFlags{url: g.ready.Admin, token: g.ready.AdminToken}
	got, err := to.send(ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, g.said())
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, got.status, got.body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(got.body, into)
}

// load puts another configuration into force.
func (g *drilled) load(ctx context.Context, config []byte) error {
	if err := os.WriteFile(g.file(), config, 0o600); err != nil {
		return err
	}
	return g.admin(ctx, http.MethodPost, "/admin/v1/reload", nil, nil)
}

// startDrill starts the gateway with all well, finds the deployment that would be asked first, and sees that an answer
// is right.
func startDrill(ctx context.Context, p *drillPlan) (*drill, error) {
	config, err := p.with(nil)
	if err != nil {
		return nil, err
	}
	g, err := startGateway(ctx, config)
	if err != nil {
		return nil, err
	}
	d := &drill{plan: p, gateway: g}
	if p.routed {
		err = d.find(ctx)
	}
	if err == nil {
		err = d.healthy(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return d, nil
}

// find asks where a router leads.
func (d *drill) find(ctx context.Context) error {
	question, err := json.Marshal(route.Question{Model: d.plan.model, Key: "drill"})
	if err != nil {
		return err
	}
	var e route.Explanation
	if err := d.gateway.admin(ctx, http.MethodPost, "/admin/v1/explain", question, &e); err != nil {
		return err
	}
	if len(e.Candidates) == 0 {
		return fmt.Errorf("router %s has no candidate for a short text", d.plan.model)
	}
	first := e.Candidates[0]
	d.plan.at = drillPlace{model: first.Model, index: d.plan.deploymentOf(first.Model, first.Provider), alone: len(e.Candidates) == 1}
	return nil
}

// healthy asks while all is well: what goes wrong later is then the fault's doing.
func (d *drill) healthy(ctx context.Context) error {
	for _, s := range d.ask(ctx, nil, 1, atOnce) {
		if !s.right() {
			return fmt.Errorf("model %s: with all providers healthy the client saw: %s\n%s", d.plan.model, s.describe(), d.gateway.said())
		}
		d.usual = max(d.usual, s.took)
	}
	return nil
}

func (d *drill) close() error { return d.gateway.close() }

// play puts a fault in the way and asks.
func (d *drill) play(ctx context.Context, f *demo.Fault) (drillResult, error) {
	config, err := d.plan.with(f)
	if err != nil {
		return drillResult{}, err
	}
	if err := d.gateway.load(ctx, config); err != nil {
		return drillResult{}, err
	}
	r := drillResult{Name: f.Name, Verdict: passed, says: f.Says}
	met, n := f.Right, atOnce
	if f.Large {
		n = 1 // it keeps a processor busy
	}
	for _, s := range d.ask(ctx, f, 1, n) {
		v := s.judge(f, d.limit(f))
		if v.worse(r.Verdict) || r.Saw == "" {
			r.Verdict, r.Saw = v, s.describe()
		}
		r.Millis = max(r.Millis, s.took.Milliseconds())
		met = met || s.attempts > 1 || v != passed
	}
	if !met {
		r.Verdict, r.Saw = failed, "the right answer, but the provider that misbehaves was not asked"
	}
	return r, ctx.Err()
}

// atOnce is how many requests a drill has under way.
const atOnce = 4

// slack is what an answer may take beyond its limit.
const slack = 100 * time.Millisecond

// limit is how long an answer may take.
func (d *drill) limit(f *demo.Fault) time.Duration {
	limit := drillWait
	if f.Endless || f.Large || f.Long {
		limit = drillTotal
	}
	return limit + d.usual + slack
}
