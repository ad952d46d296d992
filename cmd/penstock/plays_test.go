package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/store"
)

// disarm disarms a point, lets go who is held there, and tells whether it was reached.
func (b *books) disarm(p faultpoint.Point) (reached bool) {
	armed := filepath.Join(b.points, string(p))
	os.Remove(armed)
	os.Remove(armed + ".count")
	return os.Remove(armed+".reached") == nil
}

// trace plays an exit undisturbed and tells which points it reaches, in their order.
func (b *books) trace(e *exit) (points []faultpoint.Point, normal answer) {
	b.t.Helper()
	before := len(b.passed())
	key := b.key()
	normal, _ = b.ask(b.t.Context(), e, key)
	b.idle()
	points = b.passed()[before:]
	b.balance(e.name, key, e)
	return points, normal
}

// late are the points at which an answer may be the client's already.
var late = []faultpoint.Point{faultpoint.Commit, faultpoint.Committed, faultpoint.End, faultpoint.Log, faultpoint.Left, faultpoint.Slow, faultpoint.Lead}

// panics plays an exit with a panic where a point is reached for the nth time.
func (b *books) panics(e *exit, p faultpoint.Point, nth int, normal answer) {
	b.t.Helper()
	name, key := fmt.Sprintf("%s, panic at %s %d", e.name, p, nth), b.key()
	if err := os.WriteFile(filepath.Join(b.points, string(p)), []byte("panic "+strconv.Itoa(nth)), 0o600); err != nil {
		b.t.Fatal(err)
	}
	a, err := b.ask(b.t.Context(), e, key)
	reached := false
	if !slices.Contains(late, p) {
		reached = b.disarm(p) // or what follows may reach it
	}
	b.balance(name, key, e)
	if !reached && !b.disarm(p) {
		if nth == 1 && !e.racy && p != faultpoint.Committed { // what one read brings, and whether there is a second try, is not the same each time
			b.t.Errorf("%s: not reached", name)
		}
		return
	}
	own := err == nil && a.status == 500 && strings.Contains(a.body, `"error"`) && a.header.Get("x-request-id") != ""
	switch {
	case err != nil:
	case p == faultpoint.ReadSpent: // as where the store does not answer
		own = a.status == 503
	case p == faultpoint.FarCall: // as where the upstream cannot be reached
		own = a.status == 502 || a.status == 200
	}
	switch {
	case own:
	case !slices.Contains(late, p) && !e.racy:
		b.t.Errorf("%s: %d %s, %v; want 500 in the client's dialect", name, a.status, a.body, err)
	case err == nil && a.status != normal.status:
		b.t.Errorf("%s: %d %s; want 500, %d or an end of the connection", name, a.status, a.body, normal.status)
	}
	if !strings.Contains(b.log.String(), "faultpoint "+string(p)) && p != faultpoint.ReadSpent && p != faultpoint.FarCall {
		b.t.Errorf("%s: the log does not tell of it", name)
	}
}

// held is what is done to a request at a stage.
type held struct {
	what   string
	while  func(leave func()) // it is held
	after  func()             // it has ended; nil: nothing
	judges func(p faultpoint.Point, a answer, err error) bool
}

// holds plays an exit, does something while it is held at a point, and lets it go.
func (b *books) holds(e *exit, p faultpoint.Point, h *held) {
	b.t.Helper()
	name, key := fmt.Sprintf("%s, %s at %s", e.name, h.what, p), b.key()
	if err := os.WriteFile(filepath.Join(b.points, string(p)), []byte("hold"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	ctx, leave := context.WithCancel(b.t.Context())
	defer leave()
	var a answer
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a, err = b.ask(ctx, e, key)
	}()
	reached := false
	b.await(name, func() bool {
		over := false
		select {
		case <-ended: // for the client; the gateway may have steps before it, of which the last is always reached
			over = p != faultpoint.Log && b.underWay() == 0
		default:
		}
		_, err := os.Stat(filepath.Join(b.points, string(p)+".reached"))
		reached = err == nil
		return reached || over
	})
	if reached {
		h.while(leave)
	} else if p != faultpoint.Committed { // what one read brings is not the same each time
		b.t.Errorf("%s: not reached", name)
	}
	b.disarm(p)
	<-ended
	if reached && h.after != nil {
		h.after()
	}
	if reached && h.judges != nil && !h.judges(p, a, err) {
		b.t.Errorf("%s: %d %s, %v", name, a.status, a.body, err)
	}
	b.balance(name, key, e)
}

// audit holds the ledger against what the upstream counted, and the keys' tokens against the ledger.
func (b *books) audit() {
	b.t.Helper()
	out, errs, code := b.run("ledger", "verify", "-c", b.file)
	if code != 0 {
		b.t.Errorf("verify: exit %d, %s %s", code, out, errs)
	}
	out, _, _ = b.run("ledger", "list", "-o", "jsonl", "-c", b.file, "--limit", "100000")
	rows := map[string][]store.Row{}
	for line := range strings.Lines(out) {
		var r store.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			b.t.Fatal(err)
		}
		rows[r.Key] = append(rows[r.Key], r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, calls := range b.calls {
		made, tokens := 0, int64(0)
		for _, r := range rows[key] {
			if r.Outcome != "crashed" {
				made++
			}
			tokens += r.InputTokens + r.OutputTokens
		}
		i := slices.IndexFunc(b.cases, func(c booked) bool { return c.key == key })
		if i < 0 {
			continue
		}
		c := b.cases[i]
		if made > calls && !c.unreached || calls > len(rows[key]) {
			b.t.Errorf("%s: %d calls, %d rows of which %d did not crash", c.name, calls, len(rows[key]), made)
		}
		if least := b.spare - tokens; c.left < least {
			b.t.Errorf("%s: %d tokens left, want %d: what was reserved was not given back", c.name, c.left, least)
		}
	}
}

// emptied ends the gateway by a signal that has it tell of its goroutines, and holds that no request has left one.
func (b *books) emptied() {
	b.t.Helper()
	client.CloseIdleConnections()
	b.cmd.Process.Signal(syscall.SIGQUIT)
	<-b.ended
	for stack := range strings.SplitSeq(b.log.String(), "\n\n") {
		if strings.HasPrefix(stack, "goroutine ") && (strings.Contains(stack, "/core/relay") || strings.Contains(stack, "gateway.(*Gateway).Serve")) {
			b.t.Errorf("a request has left a goroutine:\n%s", stack)
		}
	}
}
