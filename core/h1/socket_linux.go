package h1

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket reaches a connection's descriptor past net.Conn: reads and writes that need not wait, many segments in one
// system call, and what the kernel knows of the peer. Its zero value reaches nothing. One goroutine may read while
// another writes.
type socket struct {
	raw syscall.RawConn

	// What a call into the poller works on. The functions are bound once, so that no call allocates.
	to      room
	readN   int
	readErr error
	noWait  bool // of the read
	reader  func(fd uintptr) bool

	segs     [][]byte
	wrote    int64 // bytes, since the connection was opened
	writeErr error
	wait     bool // of the write
	writer   func(fd uintptr) bool

	stirred bool // something had come when the connection was looked at
	looker  func(fd uintptr)
}

// open reaches for the descriptor; a connection without one, such as TLS, leaves the zero value.
func (s *socket) open(nc net.Conn) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := sc.SyscallConn(); err == nil {
		s.raw, s.reader, s.writer, s.looker = raw, s.tryRead, s.tryWrite, s.look
	}
}

func (s *socket) ok() bool { return s.raw != nil }

// read waits for bytes and reads them into a room that is asked for when there is something to try.
func (s *socket) read(to room) (int, error) { return s.readOnce(to, false) }

// readNow reads what is there already; 0 without an error is nothing.
func (s *socket) readNow(to room) (int, error) { return s.readOnce(to, true) }

func (s *socket) readOnce(to room, noWait bool) (int, error) {
	s.to, s.noWait, s.readN, s.readErr = to, noWait, 0, nil
	err := s.raw.Read(s.reader)
	s.to = nil
	if err != nil {
		return 0, err
	}
	return s.readN, s.readErr
}

func (s *socket) tryRead(fd uintptr) bool {
	b := s.to.room()
	n, err := receive(fd, b)
	for err == syscall.EINTR {
		n, err = receive(fd, b)
	}
	switch {
	case err == syscall.EAGAIN:
		s.to.vacate()
		return s.noWait
	case err != nil:
		s.readErr = err
	case n == 0:
		s.readErr = io.EOF
	default:
		s.readN = n
	}
	return true
}

// write sends what the kernel takes at once and gives the rest, in segs' own memory. With wait it first waits until
// the kernel takes something.
func (s *socket) write(segs [][]byte, wait bool) (rest [][]byte, err error) {
	s.segs, s.wait, s.writeErr = segs, wait, nil
	err = s.raw.Write(s.writer)
	rest, s.segs = s.segs, nil
	if err == nil {
		err = s.writeErr
	}
	return rest, err
}

// maxSegments is the kernel's limit for one call (IOV_MAX).
const maxSegments = 1024

func (s *socket) tryWrite(fd uintptr) bool {
	for len(s.segs) > 0 {
		n, err := send(fd, s.segs[:min(len(s.segs), maxSegments)])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return !s.wait
		case err != nil:
			s.writeErr = err
			return true
		}
		s.wrote += int64(n)
		if whole := advance(&s.segs, n); !whole {
			return true // the kernel is full
		}
	}
	return true
}

// advance takes n bytes off the front; it says whether they end with a segment.
func advance(segs *[][]byte, n int) (whole bool) {
	s := *segs
	for len(s) > 0 && n >= len(s[0]) {
		n -= len(s[0])
		s = s[1:]
	}
	*segs = s
	if n > 0 {
		s[0] = s[0][n:]
	}
	return n == 0
}

// waitGone waits until the peer has closed or reset the connection; false: the read deadline came first. Nothing is
// taken off the connection, and bytes that lie in it do not matter.
func (s *socket) waitGone() bool {
	err := s.raw.Read(func(fd uintptr) bool { return polled(fd, unix.POLLRDHUP) })
	return err == nil
}

// quiet says whether the peer has neither closed the connection nor sent anything that has not been read.
func (s *socket) quiet() bool {
	err := s.raw.Control(s.looker)
	return err == nil && !s.stirred
}

func (s *socket) look(fd uintptr) { s.stirred = polled(fd, unix.POLLIN|unix.POLLRDHUP) }

// polled says whether one of the events, an error or a hang-up is there now.
func polled(fd uintptr, events int16) bool {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	n, err := poll(&p)
	for err == syscall.EINTR {
		n, err = poll(&p)
	}
	return n > 0 || err != nil
}

// acked is how many bytes the peer's kernel has acknowledged (tcpi_bytes_acked, RFC 4898; the SYN counts as one).
func (s *socket) acked() (n int64, ok bool) {
	if s.raw == nil {
		return 0, false
	}
	err := s.raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n, ok = int64(info.Bytes_acked), true
		}
	})
	return n, ok && err == nil
}

// limitUnsent bounds what the kernel takes beyond what it can send at once (TCP_NOTSENT_LOWAT, tcp(7)), where the system can.
// What is under way to the peer is not bound by it, so neither is the speed.
func (s *socket) limitUnsent(n int) {
	s.control(func(fd int) { unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, n) })
}

// narrow fixes the kernel's receive buffer (SO_RCVBUF, socket(7)), which then no longer grows with the peer's speed.
func (s *socket) narrow(n int) {
	s.control(func(fd int) { unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n) })
}

// mostSegment is what a segment of an upstream's may hold at most. On loopback it could be 64 KiB, which a narrow receive
// window has no room for: the sender would then wait for its persist timer, 200 ms and more, for each window.
const mostSegment = 16 << 10

// boundSegments has the peer send no larger segments (TCP_MAXSEG, tcp(7)); it is for a dialer's Control. Where it is not to
// be had the connection serves too.
func boundSegments(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, mostSegment) })
}

// widen lets the receive buffer grow again.
func (s *socket) widen() {
	s.control(func(fd int) { unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK, 0) })
}

// control sets an option of the descriptor; the connection serves without it too.
func (s *socket) control(set func(fd int)) {
	if s.raw != nil {
		s.raw.Control(func(fd uintptr) { set(int(fd)) })
	}
}
