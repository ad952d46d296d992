//go:build race

package h1

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Under the race detector system calls are made by the syscall package, which tells it what they read and write.

func receive(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

func send(fd uintptr, segs [][]byte) (int, error) {
	if len(segs) == 1 {
		return syscall.Write(int(fd), segs[0])
	}
	return unix.Writev(int(fd), segs)
}

func poll(p *unix.PollFd) (int, error) { return unix.Poll([]unix.PollFd{*p}, 0) }
