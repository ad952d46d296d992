package h1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// NewHTTPHandler gives the server's handler to net/http, which serves HTTP/2 with it.
func NewHTTPHandler(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &webExchange{srv: s, w: w, r: r, rc: http.NewResponseController(w), arrived: time.Now()}
		defer x.Unwatch()
		if e := x.makeHead(); e != nil {
			s.reject(x, e)
			return
		}
		s.handle(x, func() { s.Handler(x) })
		if !x.committed || !x.ended {
			x.Abort()
		}
		if x.aborted {
			panic(http.ErrAbortHandler) // net/http's way to end a stream unclean
		}
	})
}

// webExchange is an Exchange over net/http.
type webExchange struct {
	srv       *Server
	w         http.ResponseWriter
	r         *http.Request
	rc        *http.ResponseController
	head      Head
	arrived   time.Time
	read      bool
	committed bool
	ended     bool
	aborted   bool
	trailer   string
	stop      func() bool
	watching  sync.WaitGroup
}

// makeHead builds the head from what net/http has parsed, by the rules of our own parser where they are stricter.
func (x *webExchange) makeHead() *RequestError {
	r := x.r
	x.head = Head{Method: []byte(r.Method), Target: []byte(r.RequestURI), Minor: 1, Host: []byte(r.Host), Length: r.ContentLength}
	if r.Method == "CONNECT" || r.Method == "TRACE" {
		return &RequestError{Status: 405, Msg: "method " + r.Method + ": not served"}
	}
	if len(r.Header["Authorization"]) > 1 {
		return bad("authorization: stands more than once")
	}
	for name, values := range r.Header {
		if strings.Contains(name, "_") {
			return bad("header field %q: underscore in the name", name)
		}
		for _, v := range values {
			x.head.Fields = append(x.head.Fields, Field{[]byte(name), []byte(v)})
		}
	}
	host := x.head.Host
	if e := x.head.splitTarget(); e != nil {
		return e
	}
	x.head.Host = host
	return nil
}

func (x *webExchange) Head() *Head                 { return &x.head }
func (x *webExchange) Arrived() time.Time          { return x.arrived }
func (x *webExchange) RemoteAddr() string          { return x.r.RemoteAddr }
func (x *webExchange) Committed() bool             { return x.committed }
func (x *webExchange) DeclareTrailer(names string) { x.trailer = names }

func (x *webExchange) Body(limit int64) ([]byte, error) {
	if x.read {
		return nil, errors.New("body: read twice")
	}
	x.read = true
	if x.r.ContentLength > limit {
		return nil, ErrBodyTooLarge
	}
	x.rc.SetReadDeadline(time.Now().Add(or(x.srv.BodyGrace, 10*time.Second) + time.Duration(max(x.r.ContentLength, 0)/or(x.srv.BodyRate, 1<<10))*time.Second))
	b, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) > limit:
		return nil, ErrBodyTooLarge
	}
	x.rc.SetReadDeadline(time.Time{})
	return b, nil
}

func (x *webExchange) Commit(status int, fields []byte, length int64) error {
	if x.committed {
		return errTwice
	}
	x.committed = true
	h := x.w.Header()
	for line := range bytes.SplitSeq(fields, crlf) {
		if name, value, ok := bytes.Cut(line, []byte{':'}); ok {
			h.Add(string(name), string(trim(value)))
		}
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(length, 10))
	} else if x.trailer != "" {
		h.Set("Trailer", x.trailer)
	}
	x.w.WriteHeader(status)
	return nil
}

func (x *webExchange) Write(segs ...[]byte) error {
	if x.aborted || x.ended {
		return ErrAborted
	}
	x.rc.SetWriteDeadline(time.Now().Add(or(x.srv.Stall, 30*time.Second)))
	for _, s := range segs {
		if _, err := x.w.Write(s); err != nil {
			x.aborted = true
			return err
		}
	}
	return x.rc.Flush()
}

// TryWrite gives everything back: net/http has no write that does not wait.
func (x *webExchange) TryWrite(segs ...[]byte) ([][]byte, error) {
	if x.aborted || x.ended {
		return nil, ErrAborted
	}
	return segs, nil
}

func (x *webExchange) WriteRaw(segs [][]byte) error { return x.Write(segs...) }

func (x *webExchange) Flush() error { return x.rc.Flush() }

func (x *webExchange) End(trailers []byte) error {
	if x.aborted || x.ended {
		return ErrAborted
	}
	x.ended = true
	if x.trailer != "" {
		for line := range bytes.SplitSeq(trailers, crlf) {
			if name, value, ok := bytes.Cut(line, []byte{':'}); ok {
				x.w.Header().Set(string(name), string(trim(value)))
			}
		}
	}
	return nil
}

func (x *webExchange) Abort() { x.aborted = true }

func (x *webExchange) Watch(gone func()) {
	if x.stop != nil {
		return
	}
	x.watching.Add(1)
	stop := context.AfterFunc(x.r.Context(), func() {
		defer x.watching.Done()
		gone()
	})
	x.stop = stop
}

func (x *webExchange) Unwatch() {
	if x.stop == nil {
		return
	}
	if x.stop() {
		x.watching.Done()
	}
	x.watching.Wait()
	x.stop = nil
}
