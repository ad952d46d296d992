package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// named gives some of the exits.
func named(names ...string) []exit {
	return slices.DeleteFunc(bookExits(), func(e exit) bool { return !slices.Contains(names, e.name) })
}

// eachStage does something to each exit at each stage that it passes before its end, or at those of some.
func (b *books) eachStage(exits []exit, h *held, stages ...faultpoint.Point) {
	b.t.Helper()
	for _, e := range exits {
		points, _ := b.trace(&e)
		for i, p := range points {
			if slices.Index(points, p) == i && (len(stages) == 0 || slices.Contains(stages, p)) {
				b.holds(&e, p, h)
			}
		}
	}
}

// TestClientLeavesAtEveryStage has the client leave at each stage of a request.
func TestClientLeavesAtEveryStage(t *testing.T) {
	t.Parallel()
	b := openBooks(t, "")
	b.eachStage(named("whole", "stream, translated", "fallback"), &held{what: "client leaves", while: func(leave func()) { leave() }})
	b.audit()
	b.emptied()
}

// TestAskAgainAtOnce holds each request where its call has yet to be written down: a client that has its answer is let in
// again, with room for one request at a time.
func TestAskAgainAtOnce(t *testing.T) {
	t.Parallel()
	b := openBooks(t, "")
	for _, e := range named("whole", "stream", "whole, translated", "stream, translated", "over HTTP/2", "broken stream", "fallback") {
		key, calls := b.key(), "1"
		if e.model == "fallback" {
			calls = "2"
		}
		armed := filepath.Join(b.points, string(faultpoint.End))
		if err := os.WriteFile(armed, []byte("hold "+calls), 0o600); err != nil {
			t.Fatal(err)
		}
		e.alone = true
		first, err := b.ask(t.Context(), &e, key)
		again, err2 := b.ask(t.Context(), &exit{model: "ok", alone: true}, key)
		if err != nil || first.status != 200 {
			t.Errorf("%s: %d %s, %v", e.name, first.status, first.body, err)
		}
		if err2 != nil || again.status != 200 {
			t.Errorf("%s, and again: %d %s, %v", e.name, again.status, again.body, err2)
		}
		b.await(e.name+", and held", func() bool { // the point may be reached some time behind the answer
			_, err := os.Stat(armed + ".reached")
			return err == nil
		})
		b.disarm(faultpoint.End)
		b.balance(e.name, key, &e)
	}
	b.audit()
	b.emptied()
}

// TestPluginDiesAtEveryStage kills the plugin's process, or stops it, at the stages at which a request needs it.
func TestPluginDiesAtEveryStage(t *testing.T) {
	t.Parallel()
	b := openBooks(t, "timeout: {first_content: 5s}\n")
	pids := regexp.MustCompile(`plugin started +plugin=openai +pid=(\d+)`)
	started := func() [][]string { return pids.FindAllStringSubmatch(b.log.String(), -1) }
	had := 0
	signal := func(s syscall.Signal) {
		all := started()
		had = len(all)
		pid, err := strconv.Atoi(all[len(all)-1][1])
		if err != nil {
			t.Fatal(err)
		}
		syscall.Kill(pid, s)
	}
	again := func() { // a request waits for it a second only, which is not enough on a busy machine
		b.await("another process", func() bool { return len(started()) > had })
	}
	b.eachStage(named("stream, translated"), &held{what: "plugin dies", while: func(func()) { signal(syscall.SIGKILL) }, after: again}, faultpoint.Translate, faultpoint.Head)
	b.eachStage(named("stream, translated"), &held{what: "plugin hangs", while: func(func()) { signal(syscall.SIGSTOP) }, after: again}, faultpoint.Translate)
	b.audit()
	b.emptied()
}

// beforeReserve are the stages before anything is reserved.
var beforeReserve = []faultpoint.Point{faultpoint.Enter, faultpoint.Auth, faultpoint.Queue, faultpoint.Account, faultpoint.Body, faultpoint.Choose, faultpoint.Reserve}

// TestCountersStopAtEveryStage stops the counters' server while a request is at a stage: one that has nothing reserved yet is
// refused, since its key has a budget, and any other is served; afterwards nothing is missing.
func TestCountersStopAtEveryStage(t *testing.T) {
	t.Parallel()
	url, server := startCounters(t)
	b := openBooks(t, fmt.Sprintf("counters: {url: %q}\n", url))
	b.eachStage(named("stream"), &held{
		what:  "counters stop",
		while: func(func()) { server.Signal(syscall.SIGSTOP) },
		after: func() { server.Signal(syscall.SIGCONT) },
		judges: func(p faultpoint.Point, a answer, err error) bool {
			want := 200
			if slices.Contains(beforeReserve, p) {
				want = 503
			}
			return err == nil && a.status == want
		},
	}, faultpoint.Auth, faultpoint.Reserve, faultpoint.Reserved, faultpoint.Sent, faultpoint.End)
	b.audit()
	b.emptied()
}

// TestStoreStopsAtEveryStage pauses PostgreSQL while a request is at a stage: it is served all the same, and has its row when
// the store is back.
func TestStoreStopsAtEveryStage(t *testing.T) {
	t.Parallel()
	server := storetest.Postgres(t)
	b := openBooks(t, fmt.Sprintf("store: {url: %q}\n", server.URL()))
	var resume func()
	b.eachStage(named("stream"), &held{
		what:   "store stops",
		while:  func(func()) { resume = server.Pause() },
		after:  func() { resume() },
		judges: func(_ faultpoint.Point, a answer, err error) bool { return err == nil && a.status == 200 },
	}, faultpoint.Reserved, faultpoint.Sent, faultpoint.End)
	b.audit()
	b.emptied()
}

// TestEndAtEveryStage ends the gateway while a request is at a stage, in good order and not: its call has one row, and a
// request that has been read is answered where the gateway is let. PENSTOCK_LONG=1 does so at more stages.
func TestEndAtEveryStage(t *testing.T) {
	t.Parallel()
	stages := []faultpoint.Point{faultpoint.Reserved, faultpoint.Sent, faultpoint.End}
	if os.Getenv("PENSTOCK_LONG") == "1" {
		stages = append(stages, faultpoint.Auth, faultpoint.Record, faultpoint.Send, faultpoint.Head, faultpoint.Held, faultpoint.Committed, faultpoint.Log)
	}
	for _, p := range stages {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(fmt.Sprintf("%s at %s", signal, p), func(t *testing.T) {
				t.Parallel()
				endsAt(openBooks(t, ""), p, signal)
			})
		}
	}
}

// endsAt has a gateway end while a request is held at a point.
func endsAt(b *books, p faultpoint.Point, signal syscall.Signal) {
	name := b.t.Name()
	e, key := named("stream")[0], b.key()
	armed := filepath.Join(b.points, string(p))
	if err := os.WriteFile(armed, []byte("hold"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		a, err := b.ask(b.t.Context(), &e, key)
		if err != nil {
			a.body = err.Error()
		}
		answered <- a.body
	}()
	b.await(name, func() bool {
		_, err := os.Stat(armed + ".reached")
		return err == nil
	})
	client.CloseIdleConnections()
	b.cmd.Process.Signal(signal)
	if signal == syscall.SIGTERM {
		b.await(name+": the drain", func() bool { return strings.Contains(b.log.String(), "ending: running requests are finished first") })
	}
	b.disarm(p)
	body := <-answered
	<-b.ended
	if signal == syscall.SIGTERM && (!strings.HasSuffix(body, "data: [DONE]\n\n") || b.cmd.ProcessState.ExitCode() != 0) {
		b.t.Errorf("%s: exit %d, %s", name, b.cmd.ProcessState.ExitCode(), body)
	}
	if out, errs, code := b.run("ledger", "repair", "-c", b.file); code != 0 {
		b.t.Errorf("%s: repair: exit %d, %s %s", name, code, out, errs)
	}
	b.cases = append(b.cases, booked{name: name, key: key, left: b.spare})
	b.audit()
}
