//go:build !race

package wire

import (
	"io"
	"net"
	"syscall"
	"unsafe"
)

// brief reads and writes by system calls that the scheduler is not told of. The socket does not block, so that each is over
// within some microseconds; to tell costs more than that, as the first call after a pause wakes the runtime's monitor. It
// is for one reader and one writer.
type brief struct {
	raw    syscall.RawConn // nil: a connection without a descriptor
	reader transfer
	writer transfer
}

// transfer is what a call into the poller works on. Its function is bound once, so that no call allocates.
type transfer struct {
	b   []byte
	n   int
	err error
	try func(fd uintptr) bool
}

func (s *brief) open(nc net.Conn) {
	c, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := c.SyscallConn(); err == nil {
		s.raw, s.reader.try, s.writer.try = raw, s.reader.read, s.writer.write
	}
}

func (s *brief) ok() bool { return s.raw != nil }

// read reads once, and waits until there is something.
func (s *brief) read(b []byte) (int, error) { return s.reader.run(b, s.raw.Read) }

// write writes all of b, and waits as often as the socket is full.
func (s *brief) write(b []byte) (int, error) { return s.writer.run(b, s.raw.Write) }

func (t *transfer) run(b []byte, poll func(func(fd uintptr) bool) error) (int, error) {
	t.b, t.n, t.err = b, 0, nil
	err := poll(t.try)
	t.b = nil
	if err == nil {
		err = t.err
	}
	return t.n, err
}

func (t *transfer) read(fd uintptr) bool {
	if len(t.b) == 0 {
		return true
	}
	n, errno := move(syscall.SYS_READ, fd, t.b)
	switch {
	case errno == syscall.EAGAIN:
		return false
	case errno != 0:
		t.err = errno
	case n == 0:
		t.err = io.EOF
	}
	t.n = n
	return true
}

func (t *transfer) write(fd uintptr) bool {
	for t.n < len(t.b) {
		n, errno := move(syscall.SYS_WRITE, fd, t.b[t.n:])
		switch {
		case errno == syscall.EAGAIN:
			return false
		case errno != 0:
			t.err = errno
			return true
		}
		t.n += n
	}
	return true
}

// move makes a call that moves bytes of b, again where a signal came first. An error has moved none.
func move(call, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case syscall.EINTR:
			continue
		case 0:
			return int(n), 0
		}
		return 0, errno
	}
}
