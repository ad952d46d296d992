package pluginhost

import (
	"os/exec"
	"runtime"
	"sync"
)

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
