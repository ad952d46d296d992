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
	faults map[string]Fault
	wait   func(context.Context, time.Duration) error
	stage  stage
	tally  tally
}

// startUpstream starts the server on a free port of the loopback interface; wait is how it waits between words.
func startUpstream(wait func(context.Context, time.Duration) error) (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demo upstream: %w", err)
	}
	name := "/" + random(16)
	u := &upstream{url: "http://" + l.Addr().String() + name, done: make(chan error, 1), models: behaviours(), faults: map[string]Fault{}, wait: wait}
	for _, f := range Faults() {
		u.faults[FaultModel+f.Name] = f
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+name+"/faults", &u.tally)
	mux.HandleFunc("POST "+name+"/say", u.serve(sayForm()))
	mux.HandleFunc("POST "+name+"/chat/completions", u.serve(chatForm()))
	u.server = &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout, IdleTimeout: idleTimeout}
	go func() { u.done <- u.server.Serve(l) }()
	return u, nil
}

// close ends the server: answers under way have a moment, then they are cut.
func (u *upstream) close() error {
	u.stage.close()
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

// form is a language that the upstream speaks.
type form struct {
	media         string // the type of a stream
	before, after string // what stands around a JSON text in a stream
	read          func(*json.Decoder) (*prompt, error)
	write         func(out *pieces, p *prompt, a *answer) error
}

// serve answers requests of a form.
func (u *upstream) serve(f *form) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := read(w, r, f)
		if p == nil {
			return
		}
		name := p.model
		if asked := r.Header.Get(FaultHeader); asked != "" {
			name = FaultModel + asked
			if fault, ok := u.faults[name]; !ok || fault.Process {
				refuse(w, http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("%s: %q is no fault that a request may ask for", FaultHeader, asked))
				return
			}
		}
		if fault, ok := u.faults[name]; ok {
			u.misbehave(w, r, f, p, &fault)
			return
		}
		a := u.answer(w, r, p)
		if a == nil {
			return
		}
		// An error here is the gateway's connection gone, and there is nobody left to tell.
		_ = f.write(u.pieces(w, r, f, p, a), p, a)
	}
}

// read reads a request's body; an answer has been sent where it gives nil.
func read(w http.ResponseWriter, r *http.Request, f *form) *prompt {
	// The limit is the body's alone: the server's own would also end an answer that takes longer.
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(bodyTimeout)) != nil {
		return nil
	}
	defer control.SetReadDeadline(time.Time{})
	p, err := f.read(json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)))
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "the body: "+err.Error())
		return nil
	}
	return p
}

// refuse answers with an error, in OpenAI's form.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, errorText(kind, "", message)) // as above: nobody left to tell
}

// errorText is an error in OpenAI's form; without a code it says null.
func errorText(kind, code, message string) string {
	e := map[string]any{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	text, err := json.Marshal(map[string]any{"error": e})
	if err != nil { // texts can always be marshalled
		panic(err)
	}
	return string(text)
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

// pieces is an answer under way, piece by piece.
type pieces struct {
	raw  func(text string) error // takes a piece
	pace func() error            // waits before a further word; nil: there is no pace
}

// pieces gives each piece to the gateway at once.
func (u *upstream) pieces(w http.ResponseWriter, r *http.Request, f *form, p *prompt, a *answer) *pieces {
	media := "application/json"
	if p.stream {
		media = f.media
	}
	w.Header().Set("Content-Type", media)
	control := http.NewResponseController(w)
	return &pieces{
		raw: func(text string) error {
			if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
				return err
			}
			if _, err := io.WriteString(w, text); err != nil || !p.stream {
				return err
			}
			return control.Flush()
		},
		pace: func() error { return u.wait(r.Context(), a.between) },
	}
}

// send writes a value as JSON between two texts.
func (p *pieces) send(before string, v any, after string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.raw(before + string(text) + after)
}

// words sends the words of an answer at its pace.
func (p *pieces) words(a *answer, send func(word string) error) error {
	for i, word := range a.words {
		if i > 0 && p.pace != nil {
			if err := p.pace(); err != nil {
				return err
			}
		}
		if err := send(word); err != nil {
			return err
		}
	}
	return nil
}
