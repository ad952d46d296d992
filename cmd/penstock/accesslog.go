package main

import (
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/core/gateway"
	"github.com/penstock-gateway/penstock/sdk"
)

// accessLog writes one line for each request, in text or JSON, from a goroutine of its own. A request only puts its line
// behind those that wait, and wakes nobody: a writer that blocks loses lines, which are counted, and holds no request up.
type accessLog struct {
	json bool
	end  chan struct{}
	done chan struct{}

	mu      sync.Mutex // guards what follows
	waiting []byte
	dropped int
	line    sdk.Writer // of the line that is being written
}

// waitingBytes bounds the lines that wait for a slow writer, and flushEvery is how long they wait for others, so that a
// busy gateway writes many at once.
const (
	waitingBytes = 4 << 20
	flushEvery   = 50 * time.Millisecond
)

func newAccessLog(w io.Writer, json bool) *accessLog {
	l := &accessLog{json: json, end: make(chan struct{}), done: make(chan struct{})}
	go l.write(w)
	return l
}

// close writes what waits and ends.
func (l *accessLog) close() {
	close(l.end)
	<-l.done
}

func (l *accessLog) write(w io.Writer) {
	defer close(l.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var lines []byte
	for open := true; open; {
		select {
		case <-tick.C:
		case <-l.end:
			open = false
		}
		l.mu.Lock()
		lines, l.waiting = l.waiting, lines[:0]
		dropped := l.dropped
		l.dropped = 0
		l.mu.Unlock()
		if dropped > 0 {
			lines = append(lines, "access log: "+strconv.Itoa(dropped)+" lines were lost to a slow writer\n"...)
		}
		if len(lines) > 0 {
			w.Write(lines) // where the log cannot be written there is nobody to tell
		}
	}
}

// Request puts the line of a finished request behind those that wait.
func (l *accessLog) Request(e *gateway.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.waiting) >= waitingBytes:
		l.dropped++
	case l.json:
		l.line.Reset()
		writeJSONLine(&l.line, e)
		l.waiting = append(append(l.waiting, l.line.Bytes()...), '\n')
	default:
		l.waiting = appendTextLine(l.waiting, e)
	}
}

// appendTextLine writes a line such as
//
//	14:02:19 200 demo/flaky  2 attempts  gw 0.412 ms  upstream 38.1+41.0 ms  total 80.2 ms  req_06f…
func appendTextLine(b []byte, e *gateway.Entry) []byte {
	b = time.Now().Local().AppendFormat(b, "15:04:05 ")
	b = strconv.AppendInt(b, int64(e.Status), 10)
	b = append(b, ' ')
	b = appendName(b, e.Model)
	if n := len(e.Attempts); n != 1 {
		b = append(b, "  "...)
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, " attempts"...)
	}
	b = append(b, "  gw "...)
	b = appendMillis(b, e.Clock.Gateway())
	b = append(b, " ms"...)
	for i, a := range e.Attempts {
		if i == 0 {
			b = append(b, "  upstream "...)
		} else {
			b = append(b, '+')
		}
		b = appendMillis(b, a.Ended.Sub(a.Started))
	}
	if len(e.Attempts) > 0 {
		b = append(b, " ms"...)
	}
	b = append(b, "  total "...)
	b = appendMillis(b, e.Clock.Total())
	b = append(b, " ms  "...)
	if e.Failure != nil {
		b = append(b, e.Failure.Kind.String()...)
		b = append(b, "  "...)
	}
	if e.Gone {
		b = append(b, "client left  "...)
	}
	b = append(b, e.ID...)
	return append(b, '\n')
}

// appendName writes a client's text with what a terminal could take for a command left out.
func appendName(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	for i := range min(len(s), 128) {
		if c := s[i]; c > 0x20 && c != 0x7f {
			b = append(b, c)
		} else {
			b = append(b, '?')
		}
	}
	return b
}

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d.Microseconds())/1000, 'f', 3, 64)
}

// writeJSONLine writes the line for machines.
func writeJSONLine(w *sdk.Writer, e *gateway.Entry) {
	var now [len(time.RFC3339Nano)]byte
	w.Object()
	w.Name("time").String(string(time.Now().UTC().AppendFormat(now[:0], time.RFC3339Nano)))
	w.Name("level").String("INFO")
	w.Name("msg").String("request")
	w.Name("request_id").String(e.ID)
	w.Name("generation").Int(e.Generation)
	w.Name("method").String(string(e.Method))
	w.Name("path").String(string(e.Path))
	w.Name("dialect").String(e.Dialect)
	w.StringMember("key", e.Key)
	w.StringMember("model", e.Model)
	w.Name("status").Int(int64(e.Status))
	w.Name("stream").Bool(e.Stream)
	w.Name("attempts").Int(int64(len(e.Attempts)))
	if n := len(e.Attempts); n > 0 {
		w.Name("deployment").String(e.Attempts[n-1].Upstream.Deployment.ID)
	}
	if e.Failure != nil {
		w.Name("failure").String(e.Failure.Kind.String())
		w.Name("reason").String(e.Failure.Message)
	}
	w.Name("client_gone").Bool(e.Gone)
	w.Name("input_tokens").Int(e.Usage.TotalInput())
	w.Name("output_tokens").Int(e.Usage.TotalOutput())
	w.Name("gw_us").Int(e.Clock.Gateway().Microseconds())
	w.Name("total_us").Int(e.Clock.Total().Microseconds())
	w.EndObject()
}
