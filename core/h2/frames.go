package h2

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/net/http2"

	"github.com/penstock-gateway/penstock/core/faultpoint"
)

// read is the goroutine that reads.
func (c *conn) read() {
	defer c.guard()
	for {
		f, err := c.in.ReadFrame()
		if _, ok := f.(*http2.MetaHeadersFrame); ok {
			faultpoint.Reach(faultpoint.FarCall)
		}
		if c.received(f, err) {
			return
		}
	}
}

// received takes a frame, or what came in its place, and says whether it was the last. It is called unlocked.
func (c *conn) received(f http2.Frame, err error) (last bool) {
	c.mu.Lock()
	defer c.unlock()
	if err == nil {
		err = c.take(f)
	}
	var one http2.StreamError
	switch {
	case errors.As(err, &one):
		err = nil
		if s := c.streams[one.StreamID]; s != nil {
			s.reset(one.Code, fmt.Errorf("want an answer by the rules of HTTP/2: %w", one))
		}
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if err == nil && c.out.Len() > answerLimit { // it asks, and does not read what it is answered
		err = http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	if err != nil {
		c.broke(err)
	}
	return c.err != nil
}

// take takes a frame. Its error ends the connection, or a stream.
func (c *conn) take(f http2.Frame) error {
	settings, ok := f.(*http2.SettingsFrame)
	if !ok && !c.told {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	switch f := f.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.MetaHeadersFrame:
		return c.answer(f)
	case *http2.SettingsFrame:
		return c.settings(settings)
	case *http2.WindowUpdateFrame:
		return c.widen(f.StreamID, int64(f.Increment))
	case *http2.RSTStreamFrame:
		return c.ended(f.StreamID, f.ErrCode)
	case *http2.GoAwayFrame:
		c.goAway(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.frames.WritePing(true, f.Data)
			c.say()
		}
	case *http2.PushPromiseFrame: // which the settings forbid
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

// of gives the stream of a frame, nil: it has ended. One that was never begun is a fault.
func (c *conn) of(id uint32) (*Stream, error) {
	if id >= c.next || id%2 == 0 {
		return nil, http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.streams[id], nil
}

func (c *conn) data(f *http2.DataFrame) error {
	if c.came += f.Length; c.came >= connWindow/2 {
		c.frames.WriteWindowUpdate(0, c.came)
		c.came = 0
		c.say()
	}
	s, err := c.of(f.StreamID)
	if s == nil {
		return err
	}
	if s.granted -= int(f.Length); s.granted < 0 {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeFlowControl}
	}
	data := f.Data()
	if !s.headed || s.ended || s.method == "HEAD" && len(data) > 0 {
		return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
	}
	if s.left >= 0 {
		if s.left -= int64(len(data)); s.left < 0 {
			return http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
		}
	}
	s.give(int(f.Length) - len(data)) // what pads it
	s.body.append(data)
	if f.StreamEnded() {
		s.end()
	}
	s.stirred()
	return nil
}

// answer takes the head of an answer, or its trailers.
func (c *conn) answer(f *http2.MetaHeadersFrame) error {
	s, err := c.of(f.StreamID)
	if s == nil {
		return err
	}
	bad := http2.StreamError{StreamID: s.id, Code: http2.ErrCodeProtocol}
	switch {
	case f.Truncated:
		bad.Cause = errLargeHead
		return bad
	case s.headed && (!f.StreamEnded() || len(f.PseudoFields()) > 0 || s.ended):
		return bad
	case s.headed:
		s.trailers = f.Fields
	default:
		if bad.Cause = s.status(f); bad.Cause != nil {
			return bad
		}
	}
	if f.StreamEnded() {
		s.end()
	}
	s.stirred()
	return nil
}

var (
	errLargeHead = errors.New("head larger than its limit")
	errStatus    = errors.New("want a status of three digits")
	errInterim   = errors.New("interim answers without end, or a switch of protocol that nobody asked for")
)

// status takes a head.
func (s *Stream) status(f *http2.MetaHeadersFrame) error {
	text := f.PseudoValue("status")
	n, err := strconv.ParseUint(text, 10, 16)
	switch {
	case err != nil || len(text) != 3 || n < 100 || n > 599:
		return errStatus
	case n < 200:
		if s.interim++; n == 101 || f.StreamEnded() || s.interim > maxInterim {
			return errInterim
		}
		return nil
	}
	s.code, s.headed, s.fields = int(n), true, f.RegularFields()
	for i := range s.fields {
		if s.fields[i].Name != "content-length" {
			continue
		}
		length, err := strconv.ParseInt(s.fields[i].Value, 10, 63)
		if err != nil || length < 0 || s.length >= 0 && s.length != length {
			return errors.New("content-length: want digits alone, once")
		}
		s.length = length
	}
	if s.left = s.length; s.method == "HEAD" || n == 204 || n == 304 {
		s.left = -1
	}
	return nil
}

// settings takes the upstream's.
func (c *conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if !c.told {
		c.greet()
		c.change.told, c.change.most = true, mostStreams
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			c.change.told, c.change.most = true, int(min(s.Val, mostStreams))
		case http2.SettingHeaderTableSize:
			c.fields.SetMaxDynamicTableSize(s.Val)
		case http2.SettingInitialWindowSize:
			more := int64(s.Val) - c.initial
			c.initial = int64(s.Val)
			for _, s := range c.streams {
				if s.credit += more; s.credit > maxWindow {
					return http2.ConnectionError(http2.ErrCodeFlowControl)
				}
				s.stirred()
			}
		}
		return nil
	})
	c.frames.WriteSettingsAck()
	c.say()
	return err
}

// widen lets more be sent, on a stream or, with 0, on all.
func (c *conn) widen(id uint32, n int64) error {
	if id == 0 {
		if c.credit += n; c.credit > maxWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.wakeSenders()
		return nil
	}
	s, err := c.of(id)
	if s == nil {
		return err
	}
	if s.credit += n; s.credit > maxWindow {
		return http2.StreamError{StreamID: id, Code: http2.ErrCodeFlowControl}
	}
	s.stirred()
	return nil
}

// ended takes note that the upstream has ended a stream before its time.
func (c *conn) ended(id uint32, code http2.ErrCode) error {
	s, err := c.of(id)
	if s == nil {
		return err
	}
	if s.ended { // it has answered, and does not want the rest of the request
		s.sent = true
		s.leave()
	} else {
		s.fail(fmt.Errorf("the upstream ended the stream: %v", code), code == http2.ErrCodeRefusedStream)
	}
	s.stirred()
	return nil
}

// goAway takes note that the upstream wants no more streams, and which it has not taken: RFC 9113 6.8.
func (c *conn) goAway(f *http2.GoAwayFrame) {
	c.change.gone = true
	for id, s := range c.streams {
		if id > f.LastStreamID {
			s.fail(errGoingAway, true)
		}
	}
	c.leaving = true
}
