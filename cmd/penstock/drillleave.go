package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/plugins/demo"
)

// clientFault is a client that misbehaves.
type clientFault struct {
	name, says string
	provider   string // the fault that the provider plays meanwhile; "": it is well
	do         func(c *rude) error
}

// clientFaults lists what clients do wrong.
func clientFaults() []clientFault {
	return []clientFault{
		{"client-gone-in-body", "the client leaves within its request", "", func(c *rude) error { return c.send(0.5) }},
		{"client-gone-before-head", "the client leaves before the answer begins", "stall-before-head", func(c *rude) error { return c.send(1) }},
		{"client-gone-midstream", "the client leaves in the midst of the answer", "endless-trickle", func(c *rude) error {
			if err := c.send(1); err != nil {
				return err
			}
			return c.until("eight")
		}},
		{"client-gone-at-end", "the client leaves once it has the whole answer", "", func(c *rude) error {
			if err := c.send(1); err != nil {
				return err
			}
			return c.until("[DONE]")
		}},
	}
}

// rude is a client on a bare connection.
type rude struct {
	conn    net.Conn
	request []byte
}

// send writes a share of the request.
func (c *rude) send(share float64) error {
	_, err := c.conn.Write(c.request[:int(share*float64(len(c.request)))])
	return err
}

// until reads the answer up to a text.
func (c *rude) until(text string) error {
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

// leave lets a client misbehave: the next one is served, and nothing goes on for the first.
func (d *drill) leave(ctx context.Context, f *clientFault) (drillResult, error) {
	r := drillResult{Name: f.name, Verdict: failed, says: f.says}
	config, err := d.plan.with(faultNamed(f.provider))
	if err == nil {
		err = d.gateway.load(ctx, config)
	}
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := d.misbehave(ctx, f); err != nil {
		r.Saw = err.Error()
		return r, nil
	}
	if config, err = d.plan.with(nil); err == nil {
		err = d.gateway.load(ctx, config)
	}
	if err != nil {
		return r, err
	}
	for _, s := range d.ask(ctx, atOnce) {
		if !s.right() {
			r.Saw = "the next client, " + s.describe()
			return r, nil
		}
	}
	idle, err := d.idle(ctx)
	if err != nil {
		return r, err
	}
	r.Millis = time.Since(began).Milliseconds()
	if !idle {
		r.Saw = "the provider's answer is still read"
		return r, nil
	}
	r.Verdict, r.Saw = passed, "the next client had the right answer, and nothing was left running"
	return r, nil
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

// misbehave is one visit of a client that leaves.
func (d *drill) misbehave(ctx context.Context, f *clientFault) error {
	t := tongues()[0]
	req, err := d.request(ctx, &t, d.plan.model, prompt, true)
	if err != nil {
		return err
	}
	var wire bytes.Buffer
	if err := req.Write(&wire); err != nil {
		return err
	}
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", req.URL.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return f.do(&rude{conn, wire.Bytes()})
}

// idle waits until no provider is asked any more: at most until the limit of a request.
func (d *drill) idle(ctx context.Context) (bool, error) {
	limit, err := time.ParseDuration(drillTotal)
	if err != nil { // the text is a constant
		panic(err)
	}
	for until := time.Now().Add(limit + time.Second); ; {
		var list []struct {
			InFlight int64 `json:"in_flight"`
		}
		if err := d.gateway.admin(ctx, http.MethodGet, "/admin/v1/health", nil, &list); err != nil {
			return false, err
		}
		busy := false
		for _, b := range list {
			busy = busy || b.InFlight > 0
		}
		if !busy || time.Now().After(until) {
			return !busy, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
