package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/plugins/demo"
)

// prompt is what is asked: the right answer says it back.
const prompt = "eight words that must come back as said"

// tongue is a client dialect as a drill speaks it.
type tongue struct {
	name string
	path func(model string, stream bool) string
	body func(model, say string, stream bool) any
	read func(s *sighting, data []byte) error // a frame of a stream, or a whole body
	end  string                               // stands in the last event of a stream
}

// tongues are the dialects that a drill asks in: one that the demo speaks itself, and one that is translated.
func tongues() []tongue {
	type turn struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	type request struct {
		Model    string `json:"model"`
		Max      int    `json:"max_tokens,omitempty"`
		Stream   bool   `json:"stream"`
		Messages []turn `json:"messages"`
	}
	at := func(path string) func(string, bool) string { return func(string, bool) string { return path } }
	return []tongue{
		{"openai-chat", at("/v1/chat/completions"), func(model, say string, stream bool) any {
			return request{Model: model, Stream: stream, Messages: []turn{{"user", say}}}
		}, readChat, "[DONE]"},
		{"anthropic", at("/v1/messages"), func(model, say string, stream bool) any {
			return request{Model: model, Max: 1000, Stream: stream, Messages: []turn{{"user", say}}}
		}, readMessages, "message_stop"},
	}
}

// seenError is an error as OpenAI's and Anthropic's dialects have it.
type seenError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// readChat reads a chat completion or a chunk of one.
func readChat(s *sighting, data []byte) error {
	if string(data) == "[DONE]" {
		s.ended = true
		return nil
	}
	type message struct {
		Content string `json:"content"`
	}
	var a struct {
		Error   *seenError `json:"error"`
		Choices []struct {
			Message message `json:"message"`
			Delta   message `json:"delta"`
			Finish  string  `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	s.fail(a.Error)
	for _, c := range a.Choices {
		s.text += c.Message.Content + c.Delta.Content
		if c.Finish != "" && !s.stream {
			s.ended = true
		}
	}
	return nil
}

// readMessages reads a message of Anthropic's dialect or an event of one.
func readMessages(s *sighting, data []byte) error {
	var a struct {
		Type  string     `json:"type"`
		Error *seenError `json:"error"`
		Delta struct {
			Text string `json:"text"`
		} `json:"delta"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Stop string `json:"stop_reason"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	s.fail(a.Error)
	s.text += a.Delta.Text
	for _, c := range a.Content {
		s.text += c.Text
	}
	s.ended = s.ended || a.Type == "message_stop" || a.Stop != "" && !s.stream
	return nil
}

// sighting is what a client saw of one request.
type sighting struct {
	dialect  string
	stream   bool
	say      string // what the right answer is
	status   int
	text     string // the answer as far as it came
	failure  string // what an error said
	ended    bool   // the answer came to the dialect's own end
	err      error  // the connection's, or a body that is none of the dialect's
	attempts int
	took     time.Duration
}

func (s *sighting) fail(e *seenError) {
	if e != nil {
		s.failure = e.Type + ": " + e.Message
	}
}

// patience is when a client of a drill gives up: long after the gateway should have.
const patience = 10 * time.Second

// newClient makes a client that takes an answer as it comes, and is patient.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: patience}
}

// visitor is a client that asks for what has a right answer; f nil is the usual one.
func visitor(t *tongue, stream bool, f *demo.Fault) *sighting {
	s := &sighting{dialect: t.name, stream: stream, say: prompt}
	if f != nil {
		s.say = f.Answer(prompt)
	}
	return s
}

// ask asks for a model in every way, as often as is said, n at once.
func (d *drill) ask(ctx context.Context, f *demo.Fault, times, n int) []*sighting {
	client := newClient()
	defer client.CloseIdleConnections()
	var list []*sighting
	room := make(chan struct{}, n)
	var asking sync.WaitGroup
	for range times {
		for _, t := range tongues() {
			for _, stream := range []bool{false, true} {
				s := visitor(&t, stream, f)
				list = append(list, s)
				room <- struct{}{}
				asking.Go(func() {
					s.see(ctx, client, d, &t, d.plan.model)
					<-room
				})
			}
		}
	}
	asking.Wait()
	return list
}

// see asks once and reads what comes.
func (s *sighting) see(ctx context.Context, client *http.Client, d *drill, t *tongue, model string) {
	began := time.Now()
	defer func() { s.took = time.Since(began) }()
	req, err := d.request(ctx, t, model, s.stream)
	if err != nil {
		s.err = err
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		s.err = err
		return
	}
	defer resp.Body.Close()
	s.status = resp.StatusCode
	s.err = s.read(resp, t)
	for _, h := range []http.Header{resp.Header, resp.Trailer} {
		if n, err := strconv.Atoi(h.Get("x-penstock-attempts")); err == nil {
			s.attempts = n
		}
	}
}

// request makes a request in a dialect.
func (d *drill) request(ctx context.Context, t *tongue, model string, stream bool) (*http.Request, error) {
	body, err := json.Marshal(t.body(model, prompt, stream))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.gateway.ready.API+t.path(model, stream), strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+d.plan.key)
	return req, nil
}

// maxSeen bounds what a client reads of one answer.
const maxSeen = 64 << 20

func (s *sighting) read(resp *http.Response, t *tongue) error {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxSeen))
		if err != nil {
			return err
		}
		return t.read(s, text)
	}
	lines := bufio.NewReader(io.LimitReader(resp.Body, maxSeen))
	for {
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); ok {
			if err := t.read(s, []byte(strings.TrimSpace(data))); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// right says whether the answer is complete and as it should be.
func (s *sighting) right() bool {
	return s.err == nil && s.status == http.StatusOK && s.failure == "" && s.ended && s.text == s.say
}

// verdict says how good an outcome is.
type verdict string

// The verdicts, best first.
const (
	passed  verdict = "pass"
	safe    verdict = "safe"
	partial verdict = "partial"
	failed  verdict = "fail"
)

func (v verdict) worse(than verdict) bool { return v.rank() > than.rank() }

func (v verdict) rank() int {
	switch v {
	case passed:
		return 0
	case safe:
		return 1
	case partial:
		return 2
	}
	return 3
}

// judge says what an answer is worth that should have come within a limit.
func (s *sighting) judge(f *demo.Fault, limit time.Duration) verdict {
	late := s.stream && f.Late || f.Endless
	switch {
	case s.took > limit:
		return failed
	case s.right():
		return passed
	case s.err != nil || s.failure == "" || s.ended || !strings.HasPrefix(s.say, s.text):
		return failed
	case s.text != "" && !late:
		return partial
	}
	return safe
}

// describe says what the client saw.
func (s *sighting) describe() string {
	how := s.dialect + " whole: "
	if s.stream {
		how = s.dialect + " streamed: "
	}
	saw := ""
	switch {
	case s.err != nil && s.text == "":
		saw = "no answer: " + s.err.Error()
	case s.err != nil:
		saw = fmt.Sprintf("%d, %d bytes of text, then: %v", s.status, len(s.text), s.err)
	case s.right():
		saw = "the right answer"
	case s.failure != "" && s.text != "":
		saw = fmt.Sprintf("%d, %d of %d bytes of text, then an error: %s", s.status, len(s.text), len(s.say), s.failure)
	case s.failure != "":
		saw = fmt.Sprintf("%d, an error: %s", s.status, s.failure)
	case s.ended:
		saw = fmt.Sprintf("%d, a wrong answer: %q", s.status, s.text[:min(len(s.text), 100)])
	default:
		saw = fmt.Sprintf("%d, %d of %d bytes of text, and no end", s.status, len(s.text), len(s.say))
	}
	return how + saw
}
