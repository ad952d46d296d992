package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/plugins/demo"
)

// clientFault is a client that misbehaves.
type clientFault struct {
	name, says string
	provider   string        // the fault that the provider plays meanwhile; "": it is well
	alone      bool          // nobody stands behind that provider
	once       bool          // it need be met by one of the clients only: it is left alone then
	quiet      time.Duration // after the client has left, in which the provider must not be asked again
	do         func(ctx context.Context, c *rude) error
}

// clientFaults lists what clients do wrong.
func clientFaults() []clientFault {
	waits := func(ctx context.Context, c *rude) error { return c.wait(ctx) }
	return []clientFault{
		{name: "client-gone-in-body", says: "the client leaves within its request", do: func(_ context.Context, c *rude) error { return c.send(0.5) }},
		{name: "client-gone-before-head", says: "the client leaves before the answer begins", provider: "stall-before-head", do: waits},
		{name: "client-gone-before-content", says: "the client leaves before the first content", provider: "stall-before-content", do: waits},
		{name: "client-gone-in-backoff", says: "the client leaves while the provider is left alone for a second", provider: "503-soon", alone: true, once: true,
			quiet: 1200 * time.Millisecond, do: func(ctx context.Context, c *rude) error {
				if err := c.wait(ctx); err != nil {
					return err
				}
				_, err := c.d.idle(ctx, drillWait)
				return err
			}},
		{name: "client-gone-midstream", says: "the client leaves in the midst of the answer", provider: "endless-trickle", do: func(_ context.Context, c *rude) error {
			return c.until("eight")
		}},
		{name: "client-gone-at-end", says: "the client leaves once it has the whole answer", do: func(_ context.Context, c *rude) error {
			return c.until(c.tongue.end)
		}},
		{name: "client-slow", says: "the client reads a long answer slowly", provider: "long-answer", do: func(_ context.Context, c *rude) error { return c.creep() }},
	}
}

// rude is a client on a bare connection.
type rude struct {
	d       *drill
	fault   *demo.Fault // of the provider; nil: none
	due     int64       // how often it is met in all when the clients have been where they are to go on
	tongue  *tongue
	conn    net.Conn
	request *http.Request
	wire    []byte // the request
}

// send writes a share of the request.
func (c *rude) send(share float64) error {
	_, err := c.conn.Write(c.wire[:int(share*float64(len(c.wire)))])
	return err
}

// wait sends the request and waits until the provider has been asked.
func (c *rude) wait(ctx context.Context) error {
	if err := c.send(1); err != nil {
		return err
	}
	for until := time.Now().Add(patience); ; {
		n, err := c.d.met(ctx, c.fault)
		switch {
		case err != nil:
			return err
		case n >= c.due:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("the provider was not asked within %v", patience)
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// until sends the request and reads the answer up to a text.
func (c *rude) until(text string) error {
	if err := c.send(1); err != nil {
		return err
	}
	lines := bufio.NewReader(io.LimitReader(c.conn, maxSeen))
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, text) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the answer has no %q: %w", text, err)
		}
	}
}

// creep sends the request and reads the whole answer slowly; the error says what is wrong with that.
func (c *rude) creep() error {
	if t, ok := c.conn.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(64 << 10) // with the system's own, which grows, the answer would wait there and not in the gateway
	}
	if err := c.send(1); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(slow{c.conn}, slowBite), c.request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	s := visitor(c.tongue, true, c.fault)
	s.status = resp.StatusCode
	if s.err = s.read(resp, c.tongue); !s.right() {
		return errors.New(s.describe())
	}
	return nil
}

// How slowly a slow client reads: about a megabyte a second.
const (
	slowBite  = 4 << 10
	slowEvery = 4 * time.Millisecond
)

// slow reads a little at a time.
type slow struct{ net.Conn }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(slowEvery)
	return s.Conn.Read(p[:min(len(p), slowBite)])
}

// leave lets a client of each of some dialects misbehave: the next ones are served, and nothing goes on for the first.
func (d *drill) leave(ctx context.Context, f *clientFault, in []tongue) (drillResult, error) {
	r := drillResult{Name: f.name, Verdict: passed, says: f.says, Saw: "the next client had the right answer, and nothing was left running"}
	config, err := d.plan.write(faultNamed(f.provider), f.alone)
	if err == nil {
		err = d.gateway.load(ctx, config)
	}
	if err != nil {
		return r, err
	}
	took, wrong, err := d.misbehave(ctx, f, in)
	if err != nil {
		return r, err
	}
	r.Millis = took.Milliseconds()
	if config, err = d.plan.with(nil); err == nil {
		err = d.gateway.load(ctx, config)
	}
	if err != nil {
		return r, err
	}
	for _, s := range d.ask(ctx, nil, 1, atOnce) {
		if wrong == "" && !s.right() {
			wrong = "the next client, " + s.describe()
		}
	}
	if wrong != "" {
		r.Verdict, r.Saw = failed, wrong
	}
	return r, ctx.Err()
}

// misbehave is a visit of clients that misbehave. It gives the time after which nothing went on for them any more, and what
// was wrong; "" is nothing.
func (d *drill) misbehave(ctx context.Context, f *clientFault, in []tongue) (took time.Duration, wrong string, err error) {
	fault, limit := faultNamed(f.provider), drillWait+d.usual+slack
	if fault != nil {
		limit = d.limit(fault)
	}
	before, err := d.met(ctx, fault)
	if err != nil {
		return 0, "", err
	}
	due := before + int64(len(in))
	if f.once {
		due = before + 1
	}
	faults := make([]error, len(in))
	var visits sync.WaitGroup
	for i := range in {
		visits.Go(func() {
			faults[i] = d.visit(ctx, f, &rude{d: d, fault: fault, due: due, tongue: &in[i]})
		})
	}
	visits.Wait()
	left := time.Now()
	for i, err := range faults {
		if err != nil {
			return 0, in[i].name + ": " + err.Error(), ctx.Err()
		}
	}
	idle, err := d.idle(ctx, limit)
	if err != nil || !idle {
		return 0, "the provider's answer is still read " + limit.String() + " later", err
	}
	took = time.Since(left)
	if f.quiet > 0 {
		wrong, err = d.askedAgain(ctx, fault, f.quiet)
	}
	return took, wrong, err
}

// askedAgain says that a fault was met once more within a time; "": it was not.
func (d *drill) askedAgain(ctx context.Context, fault *demo.Fault, within time.Duration) (string, error) {
	before, err := d.met(ctx, fault)
	if err == nil {
		err = pause(ctx, within)
	}
	if err != nil {
		return "", err
	}
	if n, err := d.met(ctx, fault); err != nil || n != before {
		return "the provider was asked again when the client had left", err
	}
	return "", nil
}

// visit is the client's part: a connection, what it does wrong there, and its leaving.
func (d *drill) visit(ctx context.Context, f *clientFault, c *rude) (err error) {
	model := d.plan.model
	if f.alone { // behind a router there may be others
		model = d.plan.at.model
	}
	if c.request, err = d.request(ctx, c.tongue, model, true); err != nil {
		return err
	}
	var wire bytes.Buffer
	if err := c.request.Write(&wire); err != nil {
		return err
	}
	c.wire = wire.Bytes()
	dialer := net.Dialer{Timeout: patience}
	if c.conn, err = dialer.DialContext(ctx, "tcp", c.request.URL.Host); err != nil {
		return err
	}
	defer c.conn.Close()
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return f.do(ctx, c)
}

// idle waits until no provider is asked any more, or a limit is over.
func (d *drill) idle(ctx context.Context, limit time.Duration) (bool, error) {
	for until := time.Now().Add(limit); ; {
		list, err := d.backends(ctx)
		if err != nil {
			return false, err
		}
		busy := slices.ContainsFunc(list, func(b admin.Backend) bool { return b.InFlight > 0 })
		if !busy || time.Now().After(until) {
			return !busy, nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return false, err
		}
	}
}

// faultNamed finds a fault; nil where there is none of that name.
func faultNamed(name string) *demo.Fault {
	for _, f := range demo.Faults() {
		if f.Name == name {
			return &f
		}
	}
	return nil
}
