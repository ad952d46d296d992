//go:build !linux

package h1

import (
	"errors"
	"net"
	"syscall"
)

// socket reaches no descriptor here: connections are read and written through net.Conn, a client's leaving is noticed at
// the next write, and a pooled connection's end at its next use.
type socket struct{ wrote int64 }

func (s *socket) open(net.Conn) {}

func (s *socket) ok() bool { return false }

func (s *socket) read(room) (int, error) { return 0, errors.ErrUnsupported }

func (s *socket) readNow(room) (int, error) { return 0, errors.ErrUnsupported }

func (s *socket) write(segs [][]byte, _ bool) ([][]byte, error) { return segs, errors.ErrUnsupported }

func (s *socket) waitGone() bool { return false }

func (s *socket) quiet() bool { return false }

func (s *socket) acked() (int64, bool) { return 0, false }

func (s *socket) limitUnsent(int) {}

func (s *socket) narrow(int) {}

func (s *socket) widen() {}

func boundSegments(string, string, syscall.RawConn) error { return nil }
