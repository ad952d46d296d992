package h1

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The benchmarks run the same client and the same upstream, both of this package, with nothing, this package's two sides,
// or httputil.ReverseProxy between them. The figure is the whole process's CPU time for one request; "direct" is what
// client and upstream take of it.

// load says what a request and its answer look like.
type load struct {
	name        string
	ask, answer int // bytes; answer of each chunk, where there are chunks
	chunks      int
}

var loads = []load{
	{name: "1KB", ask: 1 << 10, answer: 1 << 10},
	{name: "200KB-prompt", ask: 200 << 10, answer: 1 << 10},
	{name: "200KB-answer", ask: 1 << 10, answer: 200 << 10},
	{name: "100-chunks", ask: 1 << 10, answer: 200, chunks: 100},
}

func BenchmarkProxy(b *testing.B) {
	for _, l := range loads {
		up := benchServer(b, func(ex Exchange) { l.serve(ex) })
		b.Run(l.name+"/direct", func(b *testing.B) { l.run(b, up) })
		b.Run(l.name+"/h1", func(b *testing.B) { l.run(b, h1Proxy(b, up)) })
		b.Run(l.name+"/ReverseProxy", func(b *testing.B) { l.run(b, reverseProxy(b, up)) })
		b.Run(l.name+"/nethttp-h1", func(b *testing.B) { l.run(b, mixedProxy(b, up)) })
	}
}

func benchServer(b *testing.B, h Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	b.Cleanup(func() {
		s.Close()
		<-done
	})
	return l.Addr().String()
}

var filler = []byte(strings.Repeat("x", 1<<20))

func (l load) serve(ex Exchange) {
	if _, err := ex.Body(1 << 20); err != nil {
		return
	}
	if l.chunks == 0 {
		ex.Commit(200, []byte("Content-Type: application/json\r\n"), int64(l.answer))
		ex.Write(filler[:l.answer])
		ex.End(nil)
		return
	}
	ex.Commit(200, []byte("Content-Type: text/event-stream\r\n"), -1)
	for range l.chunks {
		ex.Write(filler[:l.answer])
	}
	ex.End(nil)
}

// run sends b.N requests on a few connections and reports the CPU time of one.
func (l load) run(b *testing.B, addr string) {
	p := NewPool(Target{Host: addr, Name: "bench"}, PoolOptions{})
	defer p.Close()
	const clients = 16
	var next, failed atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	before := cpuTime()
	b.ResetTimer()
	for range clients {
		all.Go(func() {
			var c Call
			out := &Outgoing{Method: "POST", Target: "/v1/x", Fields: benchFields, Segments: [][]byte{filler[:l.ask]}}
			for next.Add(1) <= int64(b.N) {
				if err := drainCall(p, &c, out); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	// ReverseProxy loses one in some thousand, with net/http on all sides too: its Transport closes a connection in use.
	if n := failed.Load(); n > int64(b.N)/100+1 {
		b.Errorf("%d of %d requests failed", n, b.N)
	}
	b.ReportMetric(float64(failed.Load()), "failed")
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

var benchFields = []byte("Content-Type: application/json\r\nAuthorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n" +
	"Accept: application/json\r\nUser-Agent: bench/1.0\r\n")

func drainCall(p *Pool, c *Call, out *Outgoing) error {
	defer c.Close()
	if err := p.Do(c, out, Limits{Connect: time.Second, FirstByte: time.Minute, Idle: time.Minute}); err != nil {
		return err
	}
	if c.Status() != 200 {
		return fmt.Errorf("status %d", c.Status())
	}
	for {
		if _, err := c.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// passer is what a request through h1Proxy needs.
type passer struct {
	call Call
	out  Outgoing
	segs [1][]byte
}

// h1Proxy passes bodies through with this package on both sides.
func h1Proxy(b *testing.B, up string) string {
	p := NewPool(Target{Host: up, Name: "up"}, PoolOptions{})
	b.Cleanup(p.Close)
	var passers sync.Pool
	return benchServer(b, func(ex Exchange) {
		ps, _ := passers.Get().(*passer)
		if ps == nil {
			ps = new(passer)
		}
		defer passers.Put(ps)
		c := &ps.call
		defer c.Close()
		body, err := ex.Body(1 << 20)
		if err != nil {
			return
		}
		ps.out = Outgoing{Method: "POST", Target: string(ex.Head().Path()), Fields: benchFields, Segments: ps.segs[:]}
		ps.segs[0] = body
		if err := p.Send(c, &ps.out, Limits{Connect: time.Second, FirstByte: time.Minute, Idle: time.Minute}); err != nil {
			return
		}
		if _, err := c.Wait(50 * time.Millisecond); err != nil {
			return
		}
		if c.ReadHead() != nil || ex.Commit(c.Status(), []byte("Content-Type: application/json\r\n"), c.Length()) != nil {
			return
		}
		for {
			data, err := c.Next()
			if err == io.EOF {
				ex.End(nil)
				return
			}
			if err != nil || ex.Write(data) != nil {
				return
			}
		}
	})
}

type proxyBuffers struct{ sync.Pool }

func (b *proxyBuffers) Get() []byte  { return *b.Pool.Get().(*[]byte) }
func (b *proxyBuffers) Put(x []byte) { b.Pool.Put(&x) }

func reverseProxy(b *testing.B, up string) string {
	u, err := url.Parse("http://" + up)
	if err != nil {
		b.Fatal(err)
	}
	t := &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 1024, DisableCompression: true}
	b.Cleanup(t.CloseIdleConnections)
	return webServer(b, &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport:     t,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),

		BufferPool: &proxyBuffers{sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}},
	})
}

// mixedProxy is net/http's server with this package's client.
func mixedProxy(b *testing.B, up string) string {
	p := NewPool(Target{Host: up, Name: "up"}, PoolOptions{})
	b.Cleanup(p.Close)
	return webServer(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var c Call
		defer c.Close()
		out := &Outgoing{Method: "POST", Target: r.URL.Path, Fields: benchFields, Segments: [][]byte{body}}
		if p.Do(&c, out, Limits{FirstByte: time.Minute, Idle: time.Minute}) != nil {
			return
		}
		if c.Length() >= 0 {
			w.Header().Set("Content-Length", fmt.Sprint(c.Length()))
		}
		w.WriteHeader(c.Status())
		rc := http.NewResponseController(w)
		for {
			data, err := c.Next()
			if err != nil {
				return
			}
			w.Write(data)
			rc.Flush()
		}
	}))
}

func webServer(b *testing.B, h http.Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	b.Cleanup(func() { s.Close() })
	return l.Addr().String()
}
