package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Limits of the upstream. Its only client is the gateway.
const (
	maxBody      = 32 << 20
	headTimeout  = 10 * time.Second
	bodyTimeout  = 30 * time.Second
	idleTimeout  = 5 * time.Minute
	writeTimeout = 30 * time.Second // of one write
	closeTimeout = 5 * time.Second
)

// upstream is the server that plays the models.
type upstream struct {
	url    string
	server *http.Server
	done   chan error
	models map[string]behaviour
	wait   func(context.Context, time.Duration) error
}

// startUpstream starts the server on a free port of the loopback interface; wait is how it waits between words.
func startUpstream(wait func(context.Context, time.Duration) error) (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo upstream: %w", err)
	}
	name := "/" + random(16)
	u := &upstream{url: "http://" + l.Addr().String() + name, done: make(chan error, 1), models: behaviours(), wait: wait}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+name+"/say", u.say)
	mux.HandleFunc("POST "+name+"/chat/completions", u.chat)
	u.server = &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout}
	go func() { u.done <- u.server.Serve(l) }()
	return u, nil
}

// close ends the server: answers under way have a moment, then they are cut.
func (u *upstream) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := u.server.Shutdown(ctx)
	if err != nil {
		err = u.server.Close()
	}
	if served := <-u.done; !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	return err
}

// read reads a request's body; an answer has been sent where it gives false.
func read(w http.ResponseWriter, r *http.Request, body any) bool {
	// The limit is the body's alone: the server's own would also end an answer that takes longer.
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(bodyTimeout)) != nil {
		return false
	}
	defer control.SetReadDeadline(time.Time{})
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(body); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "the body: "+err.Error())
		return false
	}
	return true
}

// refuse answers with an error, in OpenAI's form.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeJSON(w, map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": nil}})
}

// answer composes the answer to a prompt and waits for its first word; an error has been sent where it gives nil.
func (u *upstream) answer(w http.ResponseWriter, r *http.Request, p *prompt) *answer {
	b, ok := u.models[p.model]
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "invalid_request_error", fmt.Sprintf("the model %q does not exist", p.model))
		return nil
	case b.status != 0:
		refuse(w, b.status, "rate_limit_error", b.message)
		return nil
	}
	a := compose(p, b)
	if u.wait(r.Context(), b.first) != nil {
		return nil
	}
	return a
}

// pieces is a stream under way: each piece is written and flushed at once.
type pieces struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func newPieces(w http.ResponseWriter, mediaType string) *pieces {
	w.Header().Set("Content-Type", mediaType)
	return &pieces{w, http.NewResponseController(w)}
}

// send writes a value as JSON between two texts.
func (p *pieces) send(before string, v any, after string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.raw(before + string(text) + after)
}

func (p *pieces) raw(text string) error {
	if err := p.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		return err
	}
	return p.control.Flush()
}

// words sends the words of an answer at its pace.
func (u *upstream) words(ctx context.Context, a *answer, send func(word string) error) error {
	for i, word := range a.words {
		if i > 0 {
			if err := u.wait(ctx, a.between); err != nil {
				return err
			}
		}
		if err := send(word); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) {
	// An error here is the gateway's connection gone, and there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(v)
}
