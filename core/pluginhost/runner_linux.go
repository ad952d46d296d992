package pluginhost

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes put the process into a group of its own, so that a signal from a terminal does not reach it, and let
// the kernel kill it when the thread that started it dies, which is when the gateway does.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits for the end of a child and leaves it to be reaped; false where that cannot be done.
func awaitExit(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// openedPath names an open file for whoever may look into our process: the child that is to execute it.
func openedPath(f *os.File) string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
}
