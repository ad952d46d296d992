//go:build unix

package pluginhost

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// runner is one process for go-plugin, in a process group of its own. It differs from go-plugin's own in that Kill ends
// the whole group and never blocks, and in that the process is started from a thread that lives as long as the host.
type runner struct {
	cmd    *exec.Cmd
	start  func(*exec.Cmd) error
	stdout io.ReadCloser
	stderr io.ReadCloser

	waited chan struct{} // closed when the process has been reaped

	mu      sync.Mutex // guards what follows; held while the process is reaped
	started bool
	reaped  bool
}

func newRunner(cmd *exec.Cmd, start func(*exec.Cmd) error) (*runner, error) {
	cmd.SysProcAttr = processAttributes()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	return &runner{cmd: cmd, start: start, stdout: out, stderr: errs, waited: make(chan struct{})}, nil
}

// Start starts the process.
func (r *runner) Start(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.start(r.cmd); err != nil {
		return err
	}
	r.started = true
	return nil
}

// Wait waits until the process has ended. What it has left in its group is killed, where the system lets us do so before
// its id is given free.
func (r *runner) Wait(context.Context) error {
	if awaitExit(r.cmd.Process.Pid) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.killGroup()
		return r.reap(r.cmd.Wait())
	}
	err := r.cmd.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reap(err)
}

// reap notes the end. The caller holds mu.
func (r *runner) reap(err error) error {
	r.reaped = true
	close(r.waited)
	return err
}

// Kill kills the process and its group. It does not wait.
func (r *runner) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started && !r.reaped {
		r.killGroup()
	}
	return nil
}

// killGroup is safe while the leader is not reaped: until then nobody else can have its id. The caller holds mu.
func (r *runner) killGroup() {
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // ESRCH: all of it is gone
}

// state says how the process ended.
func (r *runner) state() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		return "running"
	}
	return r.cmd.ProcessState.String()
}

// pid is the process's id; 0 before it was started.
func (r *runner) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.started {
		return 0
	}
	return r.cmd.Process.Pid
}

// closePipes ends the reading of the process's output, whoever may still hold the other ends.
func (r *runner) closePipes() {
	r.stdout.Close()
	r.stderr.Close()
}

// Stdout, Stderr, Name, ID and Diagnose tell go-plugin about the process.
func (r *runner) Stdout() io.ReadCloser { return r.stdout }

// Stderr is the process's standard error.
func (r *runner) Stderr() io.ReadCloser { return r.stderr }

// Name is the executable's path.
func (r *runner) Name() string { return r.cmd.Path }

// ID is the process's id as text.
func (r *runner) ID() string { return strconv.Itoa(r.pid()) }

// Diagnose adds to go-plugin's message about a bad greeting.
func (r *runner) Diagnose(context.Context) string {
	return fmt.Sprintf("The program %s is no plugin, or wrote to its standard output before it greeted.", r.cmd.Path)
}

// PluginToHost and HostToPlugin leave addresses as they are: both ends share a file system.
func (r *runner) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin leaves addresses as they are.
func (r *runner) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// forker starts processes from one thread. Linux sends a child the signal of its parent's death when the thread that
// started it ends, not the process; a thread of the Go runtime may end at any time, this one does not.
type forker struct {
	work chan func()
	wg   sync.WaitGroup
}

func newForker() *forker {
	f := &forker{work: make(chan func())}
	f.wg.Go(func() {
		runtime.LockOSThread()
		for do := range f.work {
			do()
		}
		// Locked until the end: the thread goes with the goroutine, and nothing that it started is left by then.
	})
	return f
}

// start starts cmd.
func (f *forker) start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	f.work <- func() { done <- cmd.Start() }
	return <-done
}

// close ends the thread. All that was started must have ended.
func (f *forker) close() {
	close(f.work)
	f.wg.Wait()
}
