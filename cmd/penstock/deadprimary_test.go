//go:build unix

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/health"
)

// outage is a primary that is down. Its heal brings it back.
type outage struct {
	url  string
	heal func()
}

// outages are the ways in which a primary is down.
var outages = map[string]func(t *testing.T) outage{
	"refuses": func(t *testing.T) outage {
		s := boundSocket(t)
		return outage{s.url, func() { s.listen(128); s.serve() }}
	},
	"answers no connection": func(t *testing.T) outage {
		s := boundSocket(t)
		s.listen(0)
		var waiting []net.Conn
		for range 16 { // the queue of connections takes one or two
			c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), 100*time.Millisecond)
			if err != nil {
				break
			}
			waiting = append(waiting, c)
		}
		return outage{s.url, func() {
			for _, c := range waiting {
				c.Close()
			}
			s.listen(128)
			s.serve()
		}}
	},
	"answers 500": func(t *testing.T) outage {
		return switched(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	},
	"says nothing": func(t *testing.T) outage {
		return switched(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	},
}

// switched is an upstream that fails until it is healed.
func switched(t *testing.T, fails http.HandlerFunc) outage {
	var well atomic.Bool
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if well.Load() {
			answering("first")(w, r)
			return
		}
		fails(w, r)
	})
	return outage{up.URL, func() { well.Store(true) }}
}

// socket has an address that nobody else is given, and does not listen yet: who knows it may.
type socket struct {
	t    *testing.T
	file *os.File
	url  string
}

func boundSocket(t *testing.T) *socket {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	s := &socket{t: t, file: os.NewFile(uintptr(fd), "socket")}
	t.Cleanup(func() { s.file.Close() })
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://127.0.0.1:" + strconv.Itoa(name.(*syscall.SockaddrInet4).Port)
	return s
}

func (s *socket) listen(backlog int) {
	if err := syscall.Listen(int(s.file.Fd()), backlog); err != nil {
		s.t.Error(err)
	}
}

// serve answers well from now on.
func (s *socket) serve() {
	l, err := net.FileListener(s.file)
	if err != nil {
		s.t.Error(err)
		return
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: answering("first")}}
	server.Start()
	s.t.Cleanup(server.Close)
}

// TestPrimaryOutages holds for each way to be down what TestDeadPrimary holds for one, with 64 requests at a time: none of a
// thousand fails, the primary costs them ten attempts at the most, and its first probe after the recovery brings it back.
// It has the package to itself, since the time-outs of those who do not answer are short.
func TestPrimaryOutages(t *testing.T) {
	for name, begin := range outages {
		t.Run(name, func(t *testing.T) {
			primary := begin(t)
			second := newUpstream(t, answering("second"))
			s := servePlain(t, carefully(primary.url, second.URL, "timeout: {connect: 1s, first_content: 1s, idle: 1s}\nbreaker: {failures: 3, open_for: 300ms}\n"))
			for s.backend("first").Phase == health.Closed {
				if who, _ := s.chat("both"); who != "second" {
					t.Fatalf("got %s, want the second", who)
				}
			}
			const clients, all = 64, 1000
			var sent, failed, tried atomic.Int64
			var saw atomic.Value // of one that failed
			var asking sync.WaitGroup
			for range clients {
				asking.Go(func() {
					for sent.Add(1) <= all {
						who, attempts := s.chat("both")
						if who != "second" {
							failed.Add(1)
							saw.Store(who)
						}
						tried.Add(int64(attempts))
					}
				})
			}
			began := time.Now()
			asking.Wait()
			vain := tried.Load() - all
			if failed.Load() > 0 || vain > 10 {
				t.Errorf("%d requests failed (%v), %d attempts at the primary; want none, and 10 at most", failed.Load(), saw.Load(), vain)
			}
			took := time.Since(began)
			healed := time.Now()
			primary.heal()
			s.await("the primary serves", func() bool { who, _ := s.chat("both"); return who == "first" })
			t.Logf("%d attempts in vain of %d requests in %v; back after %v", vain, all, took, time.Since(healed))
			last := s.backend("first").History
			if n := len(last); n < 2 || last[n-1].Phase != health.Closed || last[n-2].Phase != health.Open || last[n-2].At.After(healed.Add(time.Second)) {
				t.Errorf("after the recovery: %+v; want that the first probe brings it back", last)
			}
		})
	}
}
