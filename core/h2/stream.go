package h2

import (
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/net/http2"
)

// Stream is a call. It is for one goroutine but for Abort. The connection's lock guards what it has.
type Stream struct {
	conn   *conn
	stir   chan struct{} // holds a token when something has happened
	timer  *time.Timer   // of a wait; nil before the first that has a limit
	method string

	id      uint32 // 0: not begun
	begun   int64  // bytes of the connection's that had been put when its head had
	credit  int64  // what may be sent
	waits   bool   // stands in the connection's sending
	sent    bool   // the request is complete, or not to be sent any further
	aborted bool
	left    int64 // of a body whose length was told; -1: it was not
	gone    bool  // from the connection
	err     error // why it ended before its time
	unsent  bool  // the upstream has not taken it

	window   int  // bytes that may be on their way, here or taken and not granted anew
	granted  int  // of those, that the upstream may send
	taken    int  // of those, that are to be granted anew
	kept     int  // bytes with which the reader has kept up at this window
	narrow   bool // the reader is slow
	interim  int
	code     int
	headed   bool
	given    bool // the head
	fields   []Field
	length   int64
	trailers []Field
	ended    bool // by the upstream, in good order
	body     body
}

func newStream(c *conn) *Stream {
	return &Stream{conn: c, stir: make(chan struct{}, 1), length: -1, left: -1}
}

// stirred wakes who waits. The connection is locked, as in what follows where it is not said.
func (s *Stream) stirred() {
	select {
	case s.stir <- struct{}{}:
	default:
	}
}

// await waits until ready, the stream's end or a time, zero: for ever.
func (s *Stream) await(until time.Time, ready func() bool) error {
	var late <-chan time.Time
	for !ready() && s.err == nil && !s.aborted {
		if late == nil && !until.IsZero() {
			late = s.alarm(time.Until(until))
			defer s.timer.Stop()
		}
		s.conn.unlock()
		rang := false
		select {
		case <-s.stir:
		case <-late:
			rang = true
		}
		s.conn.mu.Lock()
		if rang && !ready() && s.err == nil && !s.aborted {
			return os.ErrDeadlineExceeded
		}
	}
	if s.aborted {
		return ErrAborted
	}
	return nil
}

// alarm rings after d.
func (s *Stream) alarm(d time.Duration) <-chan time.Time {
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	return s.timer.C
}

// fail ends the stream before its time.
func (s *Stream) fail(err error, unsent bool) {
	if s.err == nil && !s.complete() {
		s.err, s.unsent = err, unsent
	}
	s.leave()
	s.stirred()
}

// complete says whether all has been sent and received.
func (s *Stream) complete() bool { return s.sent && s.ended }

// reset ends the stream and tells the upstream.
func (s *Stream) reset(code http2.ErrCode, err error) {
	if !s.gone {
		s.conn.frames.WriteRSTStream(s.id, code)
		s.conn.say()
	}
	s.fail(err, false)
}

// leave gives the stream's place back.
func (s *Stream) leave() {
	if !s.gone {
		s.gone = true
		delete(s.conn.streams, s.id)
		s.conn.change.left++
	}
}

// end takes note that the upstream has ended the stream in good order.
func (s *Stream) end() {
	if s.left > 0 {
		s.reset(http2.ErrCodeProtocol, io.ErrUnexpectedEOF)
		return
	}
	if s.ended = true; s.sent {
		s.leave()
	}
}

// Send sends the request. It waits no longer than stall for the upstream to take more of the body, and until a time, zero:
// any; where the upstream answers before it has taken all, the rest is not sent.
func (s *Stream) Send(r *Request, stall time.Duration, until time.Time) error {
	c := s.conn
	c.mu.Lock()
	defer c.unlock()
	if err := s.begin(r); err != nil {
		return err
	}
	defer s.stopWaiting()
	left := 0
	for _, seg := range r.Body {
		left += len(seg)
	}
	for _, seg := range r.Body {
		for len(seg) > 0 {
			if err := s.await(sooner(time.Now().Add(stall), until), s.maySend); err != nil {
				return err
			}
			if s.answered() {
				return nil
			}
			if s.err != nil {
				return s.err
			}
			n := min(len(seg), frameSize, int(s.credit), int(c.credit))
			left -= n
			c.frames.WriteData(s.id, left == 0, seg[:n])
			c.say()
			s.credit -= int64(n)
			c.credit -= int64(n)
			seg = seg[n:]
		}
	}
	if s.sent = true; s.ended {
		s.leave()
	}
	return nil
}

// begin sends the request's head.
func (s *Stream) begin(r *Request) error {
	c := s.conn
	switch {
	case s.aborted:
		return ErrAborted
	case c.err != nil:
		s.fail(c.err, true)
		return c.err
	case c.leaving || c.next > maxStreamID:
		c.change.gone = true
		s.fail(errGoingAway, true)
		return errGoingAway
	}
	ends := true
	for _, seg := range r.Body {
		ends = ends && len(seg) == 0
	}
	s.id, s.method, s.credit = c.next, r.Method, c.initial
	s.granted, s.window = FirstWindow, FirstWindow
	c.next += 2
	c.streams[s.id] = s
	c.head(s, r, ends)
	if r.Wide {
		s.granted, s.window, s.body.large = WideWindow, WideWindow, true
		c.frames.WriteWindowUpdate(s.id, WideWindow-FirstWindow)
	}
	s.sent, s.begun = ends, c.passed+int64(c.out.Len())
	c.say()
	return nil
}

// maySend says whether more of the body may be sent, or no more is wanted.
func (s *Stream) maySend() bool {
	c := s.conn
	if s.answered() || s.credit > 0 && c.credit > 0 && c.out.Len() <= sendBuffer/2 {
		return true
	}
	if !s.waits {
		s.waits = true
		c.sending = append(c.sending, s)
	}
	return false
}

// stopWaiting undoes what maySend did.
func (s *Stream) stopWaiting() {
	if s.waits {
		s.waits = false
		c := s.conn
		c.sending = slices.DeleteFunc(c.sending, func(other *Stream) bool { return other == s })
	}
}

// answered says whether the rest of the request is not wanted any more.
func (s *Stream) answered() bool { return s.ended || s.headed && s.code >= 300 }

// Head waits for the answer's status and fields. The fields are given once.
func (s *Stream) Head(until time.Time) (status int, fields []Field, err error) {
	c := s.conn
	c.mu.Lock()
	defer c.unlock()
	err = s.await(until, func() bool { return s.headed })
	switch {
	case err != nil:
		return 0, nil, err
	case !s.headed:
		return 0, nil, s.err
	}
	fields, s.fields, s.given = s.fields, nil, true
	return s.code, fields, nil
}

// Length is that of the answer's body, -1: it is not known beforehand.
func (s *Stream) Length() int64 {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.ended && s.left < 0 && len(s.body.blocks) == 0 {
		return 0
	}
	return s.length
}

// Wait waits until there is something that Head, or behind it Next, would give, or a time; zero: for ever. What Next gave
// last is no longer valid.
func (s *Stream) Wait(until time.Time) error {
	c := s.conn
	c.mu.Lock()
	defer c.unlock()
	s.release()
	return s.await(until, s.readable)
}

// readable says whether something is there: until the head has been taken, that.
func (s *Stream) readable() bool {
	return s.headed && (!s.given || s.ended || len(s.body.blocks) > 0)
}

// Next waits for the next bytes of the body, which are valid until Next, Wait, Spare or Close; io.EOF at its end in good
// order.
func (s *Stream) Next(until time.Time) ([]byte, error) {
	c := s.conn
	c.mu.Lock()
	defer c.unlock()
	s.release()
	if err := s.await(until, func() bool { return s.ended || len(s.body.blocks) > 0 }); err != nil {
		return nil, err
	}
	switch b := s.body.next(); {
	case b != nil:
		return b, nil
	case s.ended:
		return nil, io.EOF
	}
	return nil, s.err
}

// Spare lets what Next gave last go.
func (s *Stream) Spare() {
	s.conn.mu.Lock()
	defer s.conn.unlock()
	s.release()
}

// release lets what Next gave last go, and the upstream send as much.
func (s *Stream) release() { s.give(s.body.release()) }

// give has n bytes granted anew, many at once, and more than those to the upstream of a reader that keeps up.
func (s *Stream) give(n int) {
	s.taken += n
	if s.narrow && s.window > FirstWindow {
		less := min(s.taken, s.window-FirstWindow)
		s.taken -= less
		s.window -= less
	}
	if s.ended || s.gone || s.taken == 0 || s.taken < s.window/2 {
		return
	}
	if s.kept += s.taken; len(s.body.blocks) > 0 {
		s.kept = 0
	}
	if !s.narrow && s.window < MostWindow && s.kept >= 4*s.window {
		s.kept = 0
		s.taken += s.window
		s.window *= 2
	}
	s.conn.frames.WriteWindowUpdate(s.id, uint32(s.taken))
	s.conn.say()
	s.granted += s.taken
	s.taken = 0
}

// Narrow is for a reader that is slow: the upstream may send no more than at the begin.
func (s *Stream) Narrow() {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.narrow = true
}

// Ahead is how many bytes Next may give, and how many of the answer may be here before it is called, those among them.
func (s *Stream) Ahead() (next, held int) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.body.blockSize(), s.window - s.taken
}

// Trailers are the fields behind the body, once that has ended.
func (s *Stream) Trailers() []Field {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.trailers
}

// Unsent says whether it is certain that the upstream has not taken up a call that has failed: it may be made again.
func (s *Stream) Unsent() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.unsent
}

// Abort ends the call, from any goroutine: what waits, and what comes later, returns ErrAborted.
func (s *Stream) Abort() {
	c := s.conn
	c.mu.Lock()
	defer c.unlock()
	s.aborted = true
	if s.id != 0 {
		s.reset(http2.ErrCodeCancel, ErrAborted)
	}
	s.stirred()
}

// Close ends the call, if it has not ended, and gives its place and its memory back.
func (s *Stream) Close() {
	c := s.conn
	c.mu.Lock()
	defer c.unlock()
	if s.id != 0 {
		s.reset(http2.ErrCodeCancel, ErrAborted)
	}
	s.leave()
	s.body.free()
}

// sooner gives the earlier of two times, of which the second may be zero: none.
func sooner(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}
