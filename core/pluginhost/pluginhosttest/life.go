package pluginhosttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// refusals checks what the plugin makes of errors and credentials.
func (k *kit) refusals(ctx context.Context) {
	k.check("errors/table", k.errorTable)
	k.check("errors/body", k.errorBodies)
	if kind := k.manifest.Auth.Kind; kind == "signer" || kind == "token" {
		k.check("authorize/in-time", func() error { return k.authorize(ctx) })
	}
}

// errorTable makes the error that each row of the manifest's table is for: the row must be the one that is met.
func (k *kit) errorTable() error {
	c, err := fault.NewClassifier(k.manifest.Errors)
	if err != nil {
		return err
	}
	for i, row := range k.manifest.Errors {
		status := row.Status
		if status == 0 {
			status = 500 // says nothing by itself
		}
		text := row.Equals
		if text == "" {
			text = row.Has
		}
		body := errorBody(row.At, text)
		got := c.Classify(status, []byte(body), func(string) []byte { return nil }, time.Now()).Kind
		if want, _ := sdk.ParseKind(row.Kind); got != want && want != sdk.BadRequest {
			return fmt.Errorf("errors[%d]: status %d with %s is %s, want %s: another row is met first", i, status, body, got, want)
		}
	}
	return nil
}

// errorBody is a body that has a text at a place.
func errorBody(at, text string) string {
	quoted := `"` + string(sdk.T(text).Raw()) + `"`
	names := strings.Split(strings.TrimPrefix(at, "/"), "/")
	if at == "" {
		names = []string{"message"}
	}
	for i := len(names) - 1; i >= 0; i-- {
		quoted = `{"` + names[i] + `":` + quoted + `}`
	}
	return quoted
}

// errorBodies has odd error bodies read.
func (k *kit) errorBodies() error {
	before := k.status().PID
	for _, body := range []string{`{}`, `[]`, `null`, `"no"`, `{"error":"no"}`, `{"error":{"message":null,"code":7}}`, `[{"error":{}}]`} {
		for _, status := range []int{400, 401, 429, 500, 529} {
			if f, ok := k.process.ReadError(status, []byte(body)); ok && f.Kind == sdk.KindNone {
				return fmt.Errorf("status %d with %s: a failure of no kind", status, body)
			}
			if k.log.cause() != "" {
				return fmt.Errorf("status %d with %s: the error body was not read", status, body)
			}
		}
	}
	if now := k.status().PID; now != before {
		return fmt.Errorf("the process has been replaced: %d is now %d", before, now)
	}
	return nil
}

// authorize asks for a credential that is good for nothing, and has little time.
func (k *kit) authorize(ctx context.Context) error {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begin := time.Now()
	_, _ = k.process.Authorize(ctx, sdk.AuthRequest{Provider: instance, Credential: map[string]string{"api_key": "none"},
		Method: "POST", URL: "https://service.example/v1"})
	if took := time.Since(begin); took > limit+endLimit {
		return fmt.Errorf("took %v, though there was %v", took.Round(time.Millisecond), limit)
	}
	return nil
}

// life kills processes and looks at what becomes of the calls. It is the last of the checks.
func (k *kit) life(ctx context.Context) {
	k.check("crash/idle", k.crashIdle)
	k.check("crash/stream", k.crashStream)
	k.check("stderr", func() error {
		if k.log.overflown() {
			return errors.New("wrote more lines to standard error than a log takes")
		}
		return nil
	})
	k.check("hang", func() error { return k.hang(ctx) })
	if len(k.Hold) > 0 {
		k.check("host-killed", func() error { return k.orphaned(ctx) })
	}
	k.check("let-go", func() error { return k.letGo(ctx) })
}

// signal sends a signal to a process. One that is being started again has no id as yet, and 0 would be this very process with
// its group.
func signal(pid int, s syscall.Signal) error {
	if pid <= 0 {
		return errors.New("no process runs")
	}
	return syscall.Kill(pid, s)
}

// crashIdle kills the process between calls: the next call is served by another, which knows the configuration.
func (k *kit) crashIdle() error {
	before := k.status()
	if err := signal(before.PID, syscall.SIGKILL); err != nil {
		return err
	}
	if _, err := k.encode("mark1"); err != nil {
		return fmt.Errorf("the call after a crash: %w", err)
	}
	if now := k.status(); now.PID == before.PID || now.Restarts != before.Restarts+1 {
		return fmt.Errorf("process %d, restarts %d: want a new process and one restart more than %d", now.PID, now.Restarts, before.Restarts)
	}
	return nil
}

// crashStream kills the process in the midst of an answer: the answer fails at once, and nothing else does.
func (k *kit) crashStream() error {
	d, err := k.process.NewDecoder(info(k.manifest.Dialects[0].Name, true))
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Decode([]pluginhost.FrameIn{{Data: []byte(`{}`)}}, nil); harmless(err) != nil && !strings.HasSuffix(err.Error(), "could not translate") {
		return err
	}
	pid := k.status().PID
	if err := signal(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if !gone(pid, endLimit) {
		return fmt.Errorf("process %d lives after it was killed", pid)
	}
	_, err = d.End(nil)
	if harmless(err) == nil {
		return fmt.Errorf("the answer whose process was killed ended with error %v: want one of the plugin", err)
	}
	_, err = k.encode("mark1")
	return err
}

// hangLimit is how long a call may take in the check of a process that hangs: there it is only waited out.
const hangLimit = 300 * time.Millisecond

// hang stops the process: calls fail in their time and not later, and another process takes its place.
func (k *kit) hang(ctx context.Context) error {
	host := pluginhost.New(pluginhost.Options{Log: slog.New(slog.DiscardHandler), Bundled: k.Bundled,
		Call: hangLimit, Ping: hangLimit, Start: commandLimit, Restart: commandLimit})
	defer host.Close()
	prog, err := host.Find(k.Dirs, k.Name)
	if err != nil {
		return err
	}
	p, err := host.Acquire(ctx, prog, pluginhost.AcquireOptions{})
	if err != nil {
		return err
	}
	defer p.Release()
	if _, err := p.Configure(ctx, instance, k.Config); err != nil {
		return err
	}
	pid := host.List()[0].PID
	if err := signal(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }() // where the host has not
	q := k.say("mark1")
	q.Native = k.manifest.Dialects[0].Name
	for begin := time.Now(); harmless(p.Encode(q, new(pluginhost.Encoded))) != nil; {
		if time.Since(begin) > commandLimit {
			return fmt.Errorf("process %d was stopped, and calls fail for %v", pid, commandLimit)
		}
	}
	if !gone(pid, endLimit) {
		return fmt.Errorf("process %d was stopped, and is there beside the one that took its place", pid)
	}
	return nil
}

// letGo gives the process back: it ends.
func (k *kit) letGo(ctx context.Context) error {
	prog, err := k.host.Find(k.Dirs, k.Name)
	if err != nil {
		return err
	}
	p, err := k.host.Acquire(ctx, prog, pluginhost.AcquireOptions{Isolate: instance})
	if err != nil {
		return err
	}
	var pid int
	for _, s := range k.host.List() {
		if s.Name == k.Name && s.Isolate == instance {
			pid = s.PID
		}
	}
	p.Release()
	if pid == 0 || !gone(pid, endLimit) {
		return fmt.Errorf("process %d lives %v after it was let go of", pid, endLimit)
	}
	return nil
}
