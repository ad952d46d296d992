//go:build !race

package h1

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// briefly is how many bytes are moved by a system call that the scheduler is not told of, in at most fewSegments. A socket
// that does not block takes or gives them within some ten microseconds. To tell costs more than that: in a gateway that is
// half busy the first call after a pause wakes the runtime's monitor, which then looks every 20 µs for calls that take
// long, and hands on the processor of one that it finds.
const (
	briefly     = 256 << 10
	fewSegments = 8
)

// receive reads what is there.
func receive(fd uintptr, b []byte) (int, error) {
	if len(b) == 0 || len(b) > briefly {
		return syscall.Read(int(fd), b)
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return result(n, errno)
}

// send writes what there is room for.
func send(fd uintptr, segs [][]byte) (int, error) {
	var list [fewSegments]unix.Iovec
	if len(segs) > len(list) {
		return unix.Writev(int(fd), segs)
	}
	bytes := 0
	for i, b := range segs {
		list[i].Base = unsafe.SliceData(b)
		list[i].SetLen(len(b))
		bytes += len(b)
	}
	if bytes > briefly {
		return unix.Writev(int(fd), segs)
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&list)), uintptr(len(segs)))
	return result(n, errno)
}

// poll says how many of the events that are asked for, errors and hang-ups are there now.
func poll(p *unix.PollFd) (int, error) {
	var now unix.Timespec
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return result(n, errno)
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
