package h1

import (
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
