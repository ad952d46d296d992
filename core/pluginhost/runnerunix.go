//go:build unix && !linux

package pluginhost

import (
	"os"
	"syscall"
)

// processAttributes put the process into a group of its own, so that a signal from a terminal does not reach it.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit leaves the waiting to whoever reaps.
func awaitExit(int) bool { return false }

// openedPath is the file's path: there is no way to execute an open file.
func openedPath(f *os.File) string { return f.Name() }
