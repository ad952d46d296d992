package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// upstream is a provider on loopback: it keeps what it was asked and answers by a function.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []asked
	answer http.HandlerFunc
	forget bool // requests are not kept
}

// asked is one request that an upstream got.
type asked struct {
	path   string
	header http.Header
	body   string
}

func newUpstream(t testing.TB, answer http.HandlerFunc) *upstream {
	u := &upstream{answer: answer}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		u.mu.Lock()
		if u.forget {
			u.asked = u.asked[:0]
		}
		u.asked = append(u.asked, asked{r.URL.RequestURI(), r.Header.Clone(), string(b)})
		u.mu.Unlock()
		u.answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// last is the request that came last.
func (u *upstream) last() asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.asked) == 0 {
		return asked{}
	}
	return u.asked[len(u.asked)-1]
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.asked)
}

// says answers with a body of some type.
func says(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

// streams answers with pieces, each flushed.
func streams(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}
