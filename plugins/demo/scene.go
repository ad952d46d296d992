package demo

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// stage keeps the connections of scenes under way: the server knows nothing of them once they are hijacked.
type stage struct {
	mu     sync.Mutex // guards conns and closed
	conns  map[net.Conn]struct{}
	closed bool
	plays  sync.WaitGroup
}

// enter takes a connection up; false where the stage is closed.
func (g *stage) enter(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	if g.conns == nil {
		g.conns = map[net.Conn]struct{}{}
	}
	g.conns[c] = struct{}{}
	g.plays.Add(1)
	return true
}

func (g *stage) leave(c net.Conn) {
	c.Close()
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
	g.plays.Done()
}

// close ends the scenes and waits for them.
func (g *stage) close() {
	g.mu.Lock()
	g.closed = true
	for c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.plays.Wait()
}

// scene is one answer that goes wrong: the parts of the right one, and the connection that it is written to by hand.
type scene struct {
	form    *form
	prompt  *prompt
	opening string // all that stands before the first content
	begun   string // the first half of the content
	rest    string // the second
	closing string // how it ends
	conn    net.Conn
	pause   func(time.Duration) error
	since   time.Duration // the fault was first met
	err     error         // of the first write that failed; later ones do nothing
}

// misbehave plays a fault in place of an answer.
func (u *upstream) misbehave(w http.ResponseWriter, r *http.Request, f *form, p *prompt, fault *Fault) {
	if fault.play == nil {
		refuse(w, http.StatusNotFound, "invalid_request_error",
			fmt.Sprintf("the fault %q is one of the connection: configure the provider with config: {fault: %s}", fault.Name, fault.Name))
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "api_error", err.Error())
		return
	}
	if !u.stage.enter(conn) {
		conn.Close()
		return
	}
	defer u.stage.leave(conn)
	s := newScene(f, p)
	s.conn, s.since = conn, u.tally.add(fault.Name, time.Now())
	s.pause = func(d time.Duration) error { return u.wait(r.Context(), d) }
	fault.play(s)
}

// newScene composes the right answer in its parts.
func newScene(f *form, p *prompt) *scene {
	s := &scene{form: f, prompt: p}
	a := compose(p, behaviour{})
	parts := s.render(a)
	if !p.stream {
		text := parts[0]
		half := len(text) / 2
		s.opening, s.begun, s.rest, s.closing = text[:8], text[8:half], text[half:len(text)-2], text[len(text)-2:]
		return s
	}
	half, end := 1+(len(a.words)+1)/2, 1+len(a.words)
	s.opening, s.begun, s.rest, s.closing = parts[0], strings.Join(parts[1:half], ""), strings.Join(parts[half:end], ""), strings.Join(parts[end:], "")
	return s
}

// render writes an answer into memory, piece by piece.
func (s *scene) render(a *answer) (parts []string) {
	// Nothing can fail: the pieces are kept, and the values are our own.
	_ = s.form.write(&pieces{raw: func(text string) error { parts = append(parts, text); return nil }}, s.prompt, a)
	return parts
}

// right is the whole of the right answer, empty one that says nothing.
func (s *scene) right() string { return s.opening + s.begun + s.rest + s.closing }

// long is an answer that says the prompt many times over, in pieces of a few kilobytes.
func (s *scene) long() string {
	const each = 1 << 7
	a := &answer{id: "demo-long", input: estimate(s.prompt.bytes), output: estimate(longTimes * len(s.prompt.say))}
	for range longTimes / each {
		a.words = append(a.words, strings.Repeat(s.prompt.say, each))
	}
	return strings.Join(s.render(a), "")
}

func (s *scene) empty() string {
	return strings.Join(s.render(&answer{id: "demo-empty", input: 1}), "")
}

// frame is a JSON text as a frame of the stream, or as the body where there is no stream.
func (s *scene) frame(text string) string {
	if !s.prompt.stream {
		return text
	}
	return s.form.before + text + s.form.after
}

// media is the type of the right answer.
func (s *scene) media() string {
	if s.prompt.stream {
		return s.form.media
	}
	return "application/json"
}

// Write puts bytes on the connection as they are.
func (s *scene) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.err = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); s.err == nil {
		_, s.err = s.conn.Write(b)
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(b), nil
}

func (s *scene) raw(text string) { _, _ = s.Write([]byte(text)) } // the error stays in the scene

// head begins an answer of success whose length is not told.
func (s *scene) head(media string, fields ...string) {
	s.raw("HTTP/1.1 200 OK\r\nContent-Type: " + media + "\r\nTransfer-Encoding: chunked\r\n" + lines(fields) + "\r\n")
}

// send writes a chunk of the body.
func (s *scene) send(text string) {
	if text != "" {
		s.raw(fmt.Sprintf("%x\r\n%s\r\n", len(text), text))
	}
}

// end says that the body is complete.
func (s *scene) end() { s.raw("0\r\n\r\n") }

// tell is a whole answer of success with a body in good order, whatever it says.
func (s *scene) tell(body string) {
	s.head(s.media())
	s.send(body)
	s.end()
}

// whole answers with a status and a body of known length.
func (s *scene) whole(status int, media, body string, fields ...string) {
	s.raw(fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s", status, http.StatusText(status), media, len(body), lines(fields), body))
}

// fail answers with a status and an error in OpenAI's form.
func (s *scene) fail(status int, kind, code, message string, fields ...string) {
	s.whole(status, "application/json", errorText(kind, code, message), fields...)
}

// lines are header lines; the connection is never used again.
func lines(fields []string) string {
	return strings.Join(append(fields, "Connection: close"), "\r\n") + "\r\n"
}

// reset breaks the connection off: what was sent may be lost, and the peer is told so at once.
func (s *scene) reset() {
	if c, ok := s.conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // without it the end is a gentle one, which is a fault as well
	}
	s.conn.Close()
}

// stall says nothing more until the peer leaves.
func (s *scene) stall() {
	if s.err != nil || s.conn.SetReadDeadline(time.Now().Add(stallTimeout)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, s.conn) // its end is what is waited for
}

// repeat sends a text n times, or until the peer leaves.
func (s *scene) repeat(text string, n int) {
	for range n {
		if s.err != nil {
			return
		}
		s.send(text)
	}
}
