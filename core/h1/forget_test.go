package h1

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// takes reads a body and keeps nothing of it.
func takes(t *testing.T, ex Exchange, size int64) (is weak.Pointer[byte]) {
	body, err := ex.Body(size)
	if err != nil {
		t.Error(err)
		return is
	}
	return weak.Make(&body[0])
}

// TestForgottenBodyIsFree: a large body that its handler needs no more is free while the answer is on its way.
func TestForgottenBodyIsFree(t *testing.T) {
	const size = 2 << 20
	freed := make(chan bool, 1)
	r := start(t, &Server{Handler: func(ex Exchange) {
		is := takes(t, ex, size)
		ex.Commit(200, nil, 2)
		ex.Write([]byte("o"))
		ex.ForgetBody()
		runtime.GC()
		freed <- is.Value() == nil
		ex.Write([]byte("k"))
	}})
	c, from := r.dial(t)
	defer c.Close()
	for range 2 { // the connection is as good as before
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
		resp, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); string(b) != "ok" || err != nil {
			t.Errorf("answer %q, %v", b, err)
		}
		if !<-freed {
			t.Error("the body is kept")
		}
	}
}

// readTo is where a request's head was read to.
func readTo(ex Exchange) weak.Pointer[byte] { return weak.Make(&ex.Head().Method[0]) }

// TestSparedRequestIsFree: while an answer takes its time nothing is kept of what the request was read to, but the head can
// still be looked at. Where more is needed, nothing is let go.
func TestSparedRequestIsFree(t *testing.T) {
	type outcome struct {
		freed bool
		head  string
	}
	const body = `{"a":1}`
	head := func(target string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Some: thing\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body)
	}
	outcomes := make(chan outcome, 2)
	r := start(t, &Server{Handler: func(ex Exchange) {
		ex.Body(1 << 10)
		is := readTo(ex)
		ex.Commit(200, nil, 2)
		ex.Write([]byte("o"))
		if !bytes.HasSuffix(ex.Head().Path(), []byte("/kept")) {
			ex.ForgetBody()
		}
		ex.Spare()
		ex.Spare()
		runtime.GC()
		h := ex.Head()
		outcomes <- outcome{is.Value() == nil, fmt.Sprintf("%s %s %s %s %s %q %s", h.Method, h.Path(), h.Query(), h.Host, h.Get("x-some"), h.Get("x-empty"), h.Get("content-length"))}
		ex.Write([]byte("k"))
	}})
	c, from := r.dial(t)
	defer c.Close()
	f := func(sent string, freed bool, paths ...string) {
		t.Helper()
		io.WriteString(c, sent)
		for i, path := range paths {
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); string(b) != "ok" || err != nil {
				t.Errorf("%s: answer %q, %v", path, b, err)
			}
			o := <-outcomes
			if want := "POST " + path + ` q=1 h thing "" 7`; o.head != want {
				t.Errorf("head %s, want %s", o.head, want)
			}
			if last := i == len(paths)-1; last && o.freed != freed {
				t.Errorf("%s: what was read is free: %v, want %v", path, o.freed, freed)
			}
		}
	}
	f(head("/a?q=1"), true, "/a")
	f(head("/kept?q=1"), false, "/kept")
	f(head("/a?q=1")+head("/b?q=1"), true, "/a", "/b") // the second is there before the first is spared
	f(head("http://h/c?q=1"), true, "/c")
	f("POST /d?q=1 HTTP/1.1\r\nHost: h\r\nX-Empty:\r\nX-Some: thing\r\nX-Long: "+strings.Repeat("y", 30<<10)+"\r\nContent-Length: 7\r\n\r\n"+body, true, "/d")
}
