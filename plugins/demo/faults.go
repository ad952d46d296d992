package demo

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// FaultModel stands before the name of a fault in the name of the model that plays it: fault-503.
const FaultModel = "fault-"

// Fault is one way to misbehave. A deployment of the model FaultModel+Name plays it, in the midst of the right answer to
// the prompt, which is that of [Echo]. Where Connect is set the fault is the connection's: the provider plays it that is
// configured with config: {fault: NAME}.
type Fault struct {
	Name    string
	Says    string
	Connect bool
	Late    bool // a stream has had content when the fault comes
	Right   bool // the answer is right all the same
	Endless bool // only the limit of the whole request ends it
	Large   bool // it goes on without a pause until it is found to be too large
	Size    bool // the request is too large for the model: one with a larger context may serve it
	Process bool // it is done to the plugin's process, with all that is in it
	Long    bool // the answer is a long one, see Answer
	Storm   bool // it is over some time after it was first met, see StormTime

	play func(*scene)
	self func() // done to the plugin's own process, also when it is asked to encode
	url  func(*doors) (string, error)
}

// trickle is the time between two bytes of an answer that comes too slowly: short enough that no limit on silence is met.
const trickle = 100 * time.Millisecond

// stallTimeout bounds how long a stalled answer waits for its peer to leave.
const stallTimeout = 2 * time.Minute

// StormTime is how long a storm lasts, from its first request. When nobody has asked for ten times as long, another begins.
const StormTime = time.Second

// longTimes is how often a long answer says the prompt: more than the buffers on its way hold.
const longTimes = 1 << 14

// Answer is the right answer to a prompt.
func (f *Fault) Answer(prompt string) string {
	if f.Long {
		return strings.Repeat(prompt, longTimes)
	}
	return prompt
}

// Faults lists what the provider can do wrong.
func Faults() []Fault {
	var all []Fault
	for _, list := range [][]Fault{unreachable(), broken(), stalled(), refusals(), misshapen(), coded(), oversized(), processFaults()} {
		all = append(all, list...)
	}
	return all
}

// broken are connections that end where they should not.
func broken() []Fault {
	return []Fault{
		{Name: "reset-before-head", Says: "the connection is reset in place of an answer", play: func(s *scene) { s.reset() }},
		{Name: "reset-in-head", Says: "the connection is reset within the head", play: func(s *scene) {
			s.raw("HTTP/1.1 200 OK\r\nContent-Ty")
			s.reset()
		}},
		{Name: "reset-after-head", Says: "the connection is reset after the head", play: func(s *scene) {
			s.head(s.media())
			s.reset()
		}},
		{Name: "reset-before-content", Says: "the connection is reset before the first content", play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening)
			s.reset()
		}},
		{Name: "reset-midstream", Says: "the connection is reset in the midst of the answer", Late: true, play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.begun)
			s.reset()
		}},
		{Name: "closed-midstream", Says: "the connection is closed in the midst of the answer", Late: true, play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.begun)
		}},
	}
}

// stalled are answers that take too long.
func stalled() []Fault {
	return []Fault{
		{Name: "stall-before-head", Says: "nothing comes", play: func(s *scene) { s.stall() }},
		{Name: "stall-before-content", Says: "nothing comes after the head", play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening)
			s.stall()
		}},
		{Name: "stall-midstream", Says: "nothing more comes in the midst of the answer", Late: true, play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.begun)
			s.stall()
		}},
		{Name: "trickle", Says: "the answer comes byte by byte", Right: true, play: func(s *scene) {
			s.head(s.media())
			for _, b := range []byte(s.right()) {
				s.send(string([]byte{b}))
			}
			s.end()
		}},
		{Name: "long-answer", Says: "the answer is the prompt said 16384 times", Right: true, Long: true, play: func(s *scene) { s.tell(s.long()) }},
		{Name: "endless-trickle", Says: "the answer goes on past the limit of the request", Late: true, Endless: true, play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.begun)
			for _, b := range []byte(s.rest + s.closing) {
				s.send(string([]byte{b}))
				if s.err != nil || s.pause(trickle) != nil {
					return
				}
			}
			s.stall()
		}},
	}
}

// refusals are statuses that are no success.
func refusals() []Fault {
	const page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n"
	rate := func(name, says string, field func() string) Fault {
		return Fault{Name: name, Says: says, play: func(s *scene) {
			s.fail(429, "rate_limit_error", "rate_limit_exceeded", "too many requests, try again later", field())
		}}
	}
	status := func(name string, status int, kind, code, message string) Fault {
		return Fault{Name: name, Says: fmt.Sprintf("%d: %s", status, message), play: func(s *scene) { s.fail(status, kind, code, message) }}
	}
	size := func(f Fault) Fault {
		f.Size = true
		return f
	}
	return []Fault{
		status("500", 500, "server_error", "", "the server had an error"),
		{Name: "502", Says: "502 with a page", play: func(s *scene) { s.whole(502, "text/html", page) }},
		status("503", 503, "server_error", "", "the service is unavailable"),
		{Name: "503-soon", Says: "503, retry-after a second", play: func(s *scene) {
			s.fail(503, "server_error", "", "the service is unavailable for a moment", "Retry-After: 1")
		}},
		{Name: "503-storm", Says: "503 to all for a second, then right answers", Storm: true, Right: true, play: func(s *scene) {
			if s.since < StormTime {
				s.fail(503, "server_error", "", "the service is unavailable")
				return
			}
			s.tell(s.right())
		}},
		status("529", 529, "overloaded_error", "", "the service is overloaded"),
		rate("429-seconds", "429, retry-after in seconds", func() string { return "Retry-After: 7" }),
		rate("429-date", "429, retry-after as a date", func() string { return "Retry-After: " + time.Now().Add(7*time.Second).UTC().Format(http.TimeFormat) }),
		rate("429-ms", "429, retry-after in milliseconds", func() string { return "Retry-After-Ms: 7000" }),
		status("429-money", 429, "insufficient_quota", "insufficient_quota", "the quota is used up, check plan and billing"),
		status("401", 401, "invalid_request_error", "invalid_api_key", "the API key is not valid"),
		status("404-model", 404, "invalid_request_error", "model_not_found", "the model does not exist"),
		size(status("413", 413, "invalid_request_error", "", "the request is too large")),
		size(status("context-too-long", 400, "invalid_request_error", "context_length_exceeded", "the maximum context length is 8 tokens")),
		{Name: "redirect", Says: "302 to another place", play: func(s *scene) {
			s.whole(302, "text/plain", "", "Location: http://"+s.conn.LocalAddr().String()+"/elsewhere")
		}},
	}
}

// misshapen are answers of success that are none.
func misshapen() []Fault {
	failure := errorText("server_error", "", "the model has failed")
	return []Fault{
		{Name: "error-under-200", Says: "200 with an error for a body", play: func(s *scene) { s.whole(200, "application/json", failure) }},
		{Name: "error-first", Says: "an error is the first that the answer says", play: func(s *scene) { s.tell(s.frame(failure)) }},
		{Name: "error-midstream", Says: "an error comes in the midst of the answer", Late: true, play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.begun)
			if s.prompt.stream {
				s.send(s.frame(failure))
			}
			s.end()
		}},
		{Name: "truncated-json", Says: "the JSON breaks off, the body does not", Late: true, play: func(s *scene) {
			if s.prompt.stream {
				s.tell(s.opening + s.begun + s.form.before + `{"id":"demo","cho` + s.form.after + s.rest + s.closing)
				return
			}
			s.tell(s.opening + s.begun)
		}},
		{Name: "truncated-frame", Says: "the body ends within a frame", Late: true, play: func(s *scene) {
			s.tell(s.opening + s.begun + s.rest[:len(s.rest)/2])
		}},
		{Name: "no-terminator", Says: "the body ends without the mark of its end", Late: true, play: func(s *scene) { s.tell(s.opening + s.begun + s.rest) }},
		{Name: "empty-body", Says: "200 with no body", play: func(s *scene) { s.whole(200, s.media(), "") }},
		{Name: "empty-answer", Says: "the answer says nothing", play: func(s *scene) { s.tell(s.empty()) }},
		{Name: "html", Says: "200 with a page", play: func(s *scene) {
			s.whole(200, "text/html; charset=utf-8", "<!DOCTYPE html><html><body>Please sign in to continue.</body></html>")
		}},
		{Name: "content-type", Says: "the right answer under a wrong content type", Right: true, play: func(s *scene) {
			s.head("text/plain")
			s.send(s.right())
			s.end()
		}},
		{Name: "early-hints", Says: "informational answers before the right one", Right: true, play: func(s *scene) {
			s.raw(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n", 3))
			s.tell(s.right())
		}},
	}
}

// coded are answers in a content coding that nobody asked for.
func coded() []Fault {
	in := func(name string, encoder func(io.Writer) (io.WriteCloser, error)) Fault {
		return Fault{Name: name, Says: "the right answer, compressed as " + name + " unasked", Right: true, play: func(s *scene) {
			var b bytes.Buffer
			w, err := encoder(&b)
			if err == nil {
				_, err = io.WriteString(w, s.right())
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				s.fail(500, "server_error", "", err.Error())
				return
			}
			s.head(s.media(), "Content-Encoding: "+name)
			s.send(b.String())
			s.end()
		}}
	}
	return []Fault{
		in("gzip", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		in("br", func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, brotli.BestSpeed), nil }),
		in("zstd", func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) }),
		{Name: "bomb", Large: true, Says: "a small body that becomes one of a gigabyte", play: func(s *scene) {
			// A body may be several gzip members in a row (RFC 1952 2.2): one of 16 MiB, over and over.
			var member bytes.Buffer
			w := gzip.NewWriter(&member)
			_, _ = w.Write(bytes.Repeat([]byte("a"), 16<<20)) // a buffer takes all
			_ = w.Close()
			s.head(s.media(), "Content-Encoding: gzip")
			s.repeat(member.String(), 64)
			s.end()
		}},
	}
}

// oversized are answers that do not fit.
func oversized() []Fault {
	filler := strings.Repeat("a", 1<<20)
	return []Fault{
		{Name: "large-frame", Large: true, Says: "a frame of 100 MB", play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.form.before + `{"text":"`)
			s.repeat(filler, 100)
			s.send(`"}` + s.form.after + s.closing)
			s.end()
		}},
		{Name: "endless-line", Large: true, Says: "a line that never ends", play: func(s *scene) {
			s.head(s.media())
			s.send(s.form.before)
			s.repeat(filler, 4096)
		}},
		{Name: "large-head", Says: "a head of 16 MiB", play: func(s *scene) {
			s.raw("HTTP/1.1 200 OK\r\n")
			for range 256 {
				s.raw("X-Filler: " + filler[:64<<10] + "\r\n")
			}
			s.raw("\r\n")
		}},
	}
}
