package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	goplugin "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// instance is one process of the operating system, greeted and connected.
type instance struct {
	client   *plugin.Client
	runner   *runner
	control  wirepb.ProviderClient
	plane    *wire.Caller
	manifest *sdk.Manifest
	// readsErrors says that the plugin reads error bodies: asking is of use.
	readsErrors bool
	slots       chan struct{} // a place for each call in flight
	misses      atomic.Int32  // calls in a row that got no reply in time
	self        *lateness
	heard       uint64                 // answers when a sign of life was asked for last; as silences of the goroutine that watches
	silences    int                    // signs of life in a row that did not come
	cause       atomic.Pointer[string] // why we ended it; nil: it ended itself
}

// Bounds of the control connection, and of how long an end may take.
const (
	controlBytes  = 8 << 20
	controlWindow = 64 << 10
	graceTime     = 500 * time.Millisecond // to leave on its own after the end of the data plane
	cleanupTime   = time.Second
	missesAllowed = 3

	// patience is how many times as many calls and signs of life are missed before a process is killed while the gateway
	// itself is late.
	patience = 5
)

// passed are the only variables of our environment that a plugin sees: provider keys may stand in others.
var passed = [...]string{"PATH", "HOME", "TMPDIR", "LANG"}

func environment() []string {
	var env []string
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// start runs the program and greets it.
func (p *Process) start(ctx context.Context) (*instance, error) {
	in := &instance{self: p.host.self, slots: make(chan struct{}, ownSlots)}
	err := in.start(ctx, p)
	if err == nil {
		in.manifest, err = in.describe(ctx, p)
	}
	if err != nil {
		in.end(p.host)
		return nil, p.startError(ctx, err)
	}
	return in, nil
}

// startError says why a start failed, with the plugin's last words.
func (p *Process) startError(ctx context.Context, err error) error {
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), strings.Contains(text, "timeout while waiting"):
		text = fmt.Sprintf("not ready within %v", p.host.opt.Start)
	case strings.Contains(text, "exited before we could connect"):
		text = "exited before it greeted"
	}
	if tail := p.lines.tail(); len(tail) > 0 {
		text += fmt.Sprintf("; it wrote %q", tail[len(tail)-1])
	}
	return fmt.Errorf("plugin %q: %s", p.prog.Name, text)
}

func (in *instance) start(ctx context.Context, p *Process) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	in.plane = wire.NewCaller(ours, p.host.opt.Ping)
	exe, path, err := p.prog.open()
	if err != nil {
		return err
	}
	defer exe.Close()
	args := p.prog.args
	if p.host.opt.Debug && p.prog.Hash != bundledHash {
		args = []string{"-debug"} // the program prints its process id and waits
	}
	cmd := exec.Command(path, args...)
	cmd.Args[0] = p.prog.Path
	cmd.Env = append(environment(), wire.EnvFD+"=3")
	cmd.ExtraFiles = []*os.File{theirs}
	if in.runner, err = newRunner(cmd, p.host.forker.start); err != nil {
		return err
	}
	in.client = plugin.NewClient(p.clientConfig(ctx, func(_ hclog.Logger, c *exec.Cmd, _ string) (goplugin.Runner, error) {
		cmd.Env = append(cmd.Env, c.Env...)
		return in.runner, nil
	}))
	// go-plugin takes no context: it notices that the process is gone.
	defer context.AfterFunc(ctx, func() { in.runner.Kill(context.Background()) })()
	proto, err := in.client.Client()
	if err != nil {
		return err
	}
	raw, err := proto.Dispense(wire.PluginName)
	if err != nil {
		return err
	}
	in.control = raw.(wirepb.ProviderClient)
	return nil
}

// clientConfig is how go-plugin starts and greets a process.
func (p *Process) clientConfig(ctx context.Context, run func(hclog.Logger, *exec.Cmd, string) (goplugin.Runner, error)) *plugin.ClientConfig {
	limit := p.host.opt.Start
	if d, ok := ctx.Deadline(); ok {
		limit = max(time.Until(d), time.Millisecond)
	}
	c := &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(sdk.Protocol),
		Plugins:          plugin.PluginSet{wire.PluginName: &wire.Control{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout:     limit,
		AutoMTLS:         p.key.mtls,
		SkipHostEnv:      true,
		// What the plugin prints comes to us as bytes; parsing it is of no use, and what go-plugin itself logs, its errors say.
		Logger:     hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard}),
		Stderr:     p.lines,
		SyncStdout: p.lines,
		SyncStderr: p.lines,
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(controlBytes), grpc.MaxCallSendMsgSize(controlBytes)),
			grpc.WithInitialWindowSize(controlWindow), grpc.WithInitialConnWindowSize(controlWindow),
		},
		RunnerFunc: run,
	}
	if dir := p.host.opt.StateDir; dir != "" && len(dir) <= longestSocketDir {
		c.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: dir}
	}
	return c
}

// longestSocketDir leaves room for what go-plugin adds, in the 104 bytes that every Unix allows a socket's path.
const longestSocketDir = 60

// socketPair makes the data plane: our end, and the file that the plugin inherits as descriptor 3.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := cloexecPair()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "data plane, plugin's end")
	f := os.NewFile(uintptr(fds[0]), "data plane")
	ours, err := net.FileConn(f)
	f.Close() // FileConn has a copy
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// cloexecPair makes sockets that no process inherits by chance.
func cloexecPair() (fds [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	return fds, err
}

// describe asks for the manifest and checks it. A plugin that takes no descriptor gets its data plane over gRPC.
func (in *instance) describe(ctx context.Context, p *Process) (*sdk.Manifest, error) {
	reply, err := in.control.Manifest(ctx, &wirepb.ManifestRequest{})
	if err != nil {
		return nil, controlError(err)
	}
	in.readsErrors = reply.GetReadsErrors()
	if reply.GetStream() {
		in.plane.Close()
		if in.plane, err = wire.NewStreamCaller(in.control, p.host.opt.Ping); err != nil {
			return nil, controlError(err)
		}
	}
	m, err := readManifest(reply.GetJson(), p.prog.Name)
	if err == nil && !reply.GetAuthorizes() && (m.Auth.Kind == "signer" || m.Auth.Kind == "token") {
		err = fmt.Errorf("manifest: auth.kind %q: the plugin does not authorize", m.Auth.Kind)
	}
	return m, err
}

// alive asks for a sign of life, for which any answer is taken that has come since it was asked last.
func (in *instance) alive(limit time.Duration) error {
	err := in.plane.Ping(limit)
	heard := in.plane.Heard()
	late, silent := in.self.late(time.Now()), heard == in.heard
	in.heard = heard
	switch {
	case errors.Is(err, wire.ErrGone):
		return in.reason()
	case !errors.Is(err, wire.ErrTimeout) || !silent: // busy is alive
		in.silences = 0
		return nil
	}
	if in.silences++; late && in.silences < patience {
		return nil
	}
	return in.condemn(fmt.Sprintf("hung: no sign of life within %v", time.Duration(in.silences)*limit))
}

// missed counts a call without a reply in time. After some in a row the process is killed.
func (in *instance) missed(limit time.Duration) {
	allowed := int32(missesAllowed)
	if in.self.late(time.Now()) {
		allowed *= patience
	}
	if n := in.misses.Add(1); n >= allowed {
		in.condemn(fmt.Sprintf("hung: %d calls in a row without a reply within %v", n, limit))
		in.plane.Close()
	}
}

// condemn kills the process and notes why.
func (in *instance) condemn(why string) error {
	in.cause.CompareAndSwap(nil, &why)
	in.runner.Kill(context.Background())
	return in.reason()
}

// dead says whether the data plane has ended, and with it the process.
func (in *instance) dead() bool {
	select {
	case <-in.plane.Done():
		return true
	default:
		return false
	}
}

// reason says why the process ended.
func (in *instance) reason() error {
	if why := in.cause.Load(); why != nil {
		return errors.New(*why)
	}
	select {
	case <-in.runner.waited:
		return fmt.Errorf("ended: %s; %v", in.runner.state(), in.plane.Err())
	case <-time.After(graceTime):
		return in.plane.Err()
	}
}

// end ends the process: first by the end of the data plane, which a sound plugin takes as its own, then by force.
// go-plugin's Kill, which would wait for ever for a stopped process, comes when it is dead, and cleans up.
func (in *instance) end(h *Host) {
	if in.plane != nil {
		in.plane.Close()
	}
	if in.client == nil {
		return
	}
	if in.runner != nil && in.runner.pid() != 0 {
		select {
		case <-in.runner.waited:
		case <-time.After(graceTime):
		}
		in.runner.Kill(context.Background())
	}
	h.wg.Go(in.cleanUp)
}

// cleanUp waits for what go-plugin has running. Pipes that somebody outside the process's group holds are let go of.
func (in *instance) cleanUp() {
	if in.runner != nil {
		release := time.AfterFunc(cleanupTime, in.runner.closePipes)
		defer release.Stop()
	}
	in.client.Kill()
}

// When a process is given up, and how long a restart waits.
const (
	loopDeaths = 5 // within loopWindow
	loopWindow = time.Minute
	quarantine = time.Minute // how long a process in a crash loop rests before it is tried again
)

// waits are the times before a restart, by the deaths within loopWindow. A lone death costs none: the next request is to
// find the process running.
var waits = [loopDeaths - 1]time.Duration{0, 100 * time.Millisecond, time.Second, 10 * time.Second}

// deaths remembers when a process died of late.
type deaths struct {
	recent []time.Time
	rested time.Time // the end of the last quarantine
}

// add counts a death. It gives the wait before the next start, and why the process is to be quarantined, if it is. A
// death soon after a quarantine leads to the next one.
func (d *deaths) add(now time.Time) (wait time.Duration, loop string) {
	keep := d.recent[:0]
	for _, t := range d.recent {
		if now.Sub(t) < loopWindow {
			keep = append(keep, t)
		}
	}
	d.recent = append(keep, now)
	switch {
	case !d.rested.IsZero() && now.Sub(d.rested) < loopWindow:
		loop = fmt.Sprintf("ended again within %v of its last quarantine", loopWindow)
	case len(d.recent) >= loopDeaths:
		loop = fmt.Sprintf("ended %d times within %v", len(d.recent), loopWindow)
	default:
		return waits[len(d.recent)-1], ""
	}
	d.recent, d.rested = d.recent[:0], now.Add(quarantine)
	return quarantine, loop
}
