package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/plugins/demo"
)

// allTongues are the client dialects, those of a drill and the others.
func allTongues() []tongue {
	return append(tongues(),
		tongue{"openai-responses", func(string, bool) string { return "/v1/responses" }, func(model, say string, stream bool) any {
			return object{"model": model, "input": say, "stream": stream}
		}, readResponses, "response.completed"},
		tongue{"gemini", func(model string, stream bool) string {
			if stream {
				return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/" + model + ":generateContent"
		}, func(_, say string, _ bool) any {
			return object{"contents": []object{{"role": "user", "parts": []object{{"text": say}}}}}
		}, readGemini, "finishReason"})
}

// readResponses reads a response of OpenAI's newer dialect or an event of one.
func readResponses(s *sighting, data []byte) error {
	type response struct {
		Status string     `json:"status"`
		Error  *seenError `json:"error"`
		Output []struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"output"`
	}
	var a struct {
		response
		Type    string   `json:"type"`
		Delta   string   `json:"delta"`
		Message string   `json:"message"`
		Whole   response `json:"response"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	s.fail(a.Error)
	switch a.Type {
	case "":
		for _, o := range a.Output {
			for _, c := range o.Content {
				s.text += c.Text
			}
		}
		s.ended = a.Status == "completed"
	case "response.output_text.delta":
		s.text += a.Delta
	case "response.completed":
		s.ended = true
	case "response.failed":
		s.fail(a.Whole.Error)
	case "error":
		s.fail(&seenError{a.Type, a.Message})
	}
	return nil
}

// readGemini reads an answer of Gemini's dialect or a piece of one.
func readGemini(s *sighting, data []byte) error {
	var a struct {
		Error *struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"error"`
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
			Finish string `json:"finishReason"`
		} `json:"candidates"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return err
	}
	if a.Error != nil {
		s.fail(&seenError{a.Error.Status, a.Error.Message})
	}
	for _, c := range a.Candidates {
		for _, p := range c.Content.Parts {
			s.text += p.Text
		}
		s.ended = s.ended || c.Finish != ""
	}
	return nil
}

// faulty is a configuration with two models for each fault: NAME, where a healthy deployment stands behind the one that
// fails, and alone-NAME, where none does.
func faulty(t *testing.T) string {
	providers, models := object{"well": object{"plugin": "demo"}}, object{"well": object{"deployments": []object{{"provider": "well", "model": demo.Echo}}}}
	for _, f := range demo.Faults() {
		providers[f.Name] = misbehaving(&f)
		bad := object{"provider": f.Name, "model": demo.FaultModel + f.Name, "context_window": 100_000}
		if f.Connect {
			bad["model"] = demo.Echo
		}
		models[f.Name] = object{"deployments": []object{bad, {"provider": "well", "model": demo.Echo, "context_window": 1_000_000}}}
		models["alone-"+f.Name] = object{"deployments": []object{bad}}
	}
	text, err := json.Marshal(object{"providers": providers, "models": models, "keys": []object{{"name": "dev", "secret": testKey}},
		"timeout": object{"connect": "2s", "first_content": "2s", "idle": "2s", "total": "12s"}, // a busy machine takes long over a handshake
		"breaker": object{"failures": 1000},                                                     // each request is to meet the fault
		"retry":   object{"attempts": 3, "backoff": object{"first": "5ms", "max": "20ms"}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFaults plays every fault to clients of every dialect, streamed and whole: the next candidate serves unless content
// had been sent, and then the stream ends in the dialect's error. Afterwards all is as it was before.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := servePlain(t, faulty(t))
	d := &drill{plan: &drillPlan{key: testKey}, gateway: &drilled{ready: s.readyFile}}
	http1 := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 20 * time.Second}
	well := func(when string) {
		for _, tongue := range allTongues() {
			for _, stream := range []bool{false, true} {
				saw := visitor(&tongue, stream, nil)
				if saw.see(t.Context(), http1, d, &tongue, "well"); !saw.right() {
					t.Errorf("%s: %s", when, saw.describe())
				}
			}
		}
	}
	well("before")
	http1.CloseIdleConnections()
	before := descriptors(t, s.PID)
	room := make(chan struct{}, 3) // faults at once
	var playing sync.WaitGroup
	for _, f := range demo.Faults() {
		if f.Large {
			continue
		}
		playing.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			playFault(t, http1, d, &f, allTongues())
		})
	}
	playing.Wait()
	for _, f := range demo.Faults() {
		if f.Large { // one at a time, in one dialect: a hundred megabytes are enough
			playFault(t, http1, d, &f, tongues()[:1])
		}
	}
	well("after")
	http1.CloseIdleConnections()
	// Connections to providers may be kept, some to each; what leaks with each request would be ten times as many.
	s.await("the descriptors of the start", func() bool { return descriptors(t, s.PID) <= before+32 })
	if n := s.goroutines(); n > 200 {
		t.Errorf("%d goroutines after all faults", n)
	}
}

// playFault asks in some dialects at once while a fault is played.
func playFault(t *testing.T, client *http.Client, d *drill, f *demo.Fault, in []tongue) {
	var list []*sighting
	var asking sync.WaitGroup
	for _, tongue := range in {
		for _, stream := range []bool{false, true} {
			saw := visitor(&tongue, stream, f)
			list = append(list, saw)
			asking.Go(func() { saw.see(t.Context(), client, d, &tongue, f.Name) })
		}
	}
	asking.Wait()
	met := f.Right
	for _, saw := range list {
		want := passed
		if f.Endless || f.Late && saw.stream {
			want = safe
		}
		got := saw.judge(f, 20*time.Second)
		if got.worse(want) {
			t.Errorf("%s: %s; want %s", f.Name, saw.describe(), want)
		}
		met = met || saw.attempts > 1 || got != passed
	}
	if !met {
		t.Errorf("%s: the provider that misbehaves was not asked", f.Name)
	}
}

// TestClientsMisbehave lets clients of every dialect leave at each stage, or read slowly: nothing goes on for them, and the
// next ones are served. It has the package to itself, since it plays a part of a drill, with a drill's short time-outs.
func TestClientsMisbehave(t *testing.T) {
	const text = "providers: {one: {plugin: demo}, two: {plugin: demo}}\nmodels: {m: {deployments: [{provider: one, model: echo}, {provider: two, model: echo}]}}\n"
	s := serveText(t, text+"keys: [{name: dev, secret: "+testKey+"}]\n")
	cfg, err := config.Load(s.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := newDrillPlan(cfg, []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{plan: plan, gateway: &drilled{dir: s.dir, ready: s.readyFile}, usual: 20 * time.Second} // here no limit is a verdict
	for _, f := range clientFaults() {
		if got, err := d.leave(t.Context(), &f, allTongues()); err != nil || got.Verdict != passed {
			t.Errorf("%s: %s, %s, %v", f.name, got.Verdict, got.Saw, err)
		}
	}
}

// TestFaultHeader: a chat completion asks all of the demo's deployments that it comes to for a fault by a header.
func TestFaultHeader(t *testing.T) {
	t.Parallel()
	s := serveText(t, "providers: {one: {plugin: demo}, two: {plugin: demo}}\nmodels: {m: {deployments: [{provider: one, model: echo}, {provider: two, model: fault-500}]}}\n"+
		"keys: [{name: dev, secret: "+testKey+"}]\nserver_timing: attempts\nretry: {attempts: 2}\n")
	for header, want := range map[string]string{"": "one#1 200", "529": "two#2 529", "plugin-killed": "one#1 400"} {
		a := s.post("/v1/chat/completions", askWhole, demo.FaultHeader, header)
		if got := a.header.Get("Server-Timing"); !strings.Contains(got, `desc="`+want+`"`) {
			t.Errorf("%q: %d %q, want %s", header, a.status, got, want)
		}
	}
}

// TestFaultsWithoutFallback: where nothing else can serve, each dialect has its own error, which shows no secret, no
// address, and tells clients not to try again what has been tried.
func TestFaultsWithoutFallback(t *testing.T) {
	t.Parallel()
	s := serveText(t, faulty(t))
	for _, c := range []struct {
		fault  string
		status int
		openai string // the error's type
	}{
		{"refused", 502, "api_error"},
		{"tls-untrusted", 502, "api_error"},
		{"reset-before-head", 502, "api_error"},
		{"500", 502, "api_error"},
		{"html", 502, "api_error"},
		{"empty-answer", 502, "api_error"},
		{"redirect", 502, "api_error"},
		{"plugin-killed", 502, "api_error"},
		{"401", 502, "api_error"},
		{"stall-before-head", 504, "timeout_error"},
		{"503", 503, "service_unavailable_error"},
		{"429-ms", 429, "rate_limit_error"},
		{"context-too-long", 400, "invalid_request_error"},
	} {
		for _, tongue := range allTongues() {
			body, err := json.Marshal(tongue.body("alone-"+c.fault, prompt, false))
			if err != nil {
				t.Fatal(err)
			}
			a, err := s.tryPost(context.Background(), tongue.path("alone-"+c.fault, false), string(body))
			if err != nil {
				t.Errorf("%s in %s: %v", c.fault, tongue.name, err)
				continue
			}
			want := c.status
			if tongue.name == "anthropic" && want == 503 {
				want = 529
			}
			if a.status != want || !ownError(tongue.name, a.body, c.openai) {
				t.Errorf("%s in %s: %d %s; want %d and the dialect's error", c.fault, tongue.name, a.status, a.body, want)
			}
			for _, secret := range []string{testKey, "127.0.0.1", "goroutine"} {
				if strings.Contains(a.body+fmt.Sprint(a.header), secret) {
					t.Errorf("%s in %s: shows %q: %s %v", c.fault, tongue.name, secret, a.body, a.header)
				}
			}
		}
	}
}

// ownError says whether a body is an error in a dialect's own form.
func ownError(dialect, body, openai string) bool {
	var e struct {
		Type  string
		Error struct {
			Type, Status, Message string
			Code                  any
		}
	}
	if json.Unmarshal([]byte(body), &e) != nil || e.Error.Message == "" {
		return false
	}
	switch dialect {
	case "anthropic":
		return e.Type == "error" && e.Error.Type != ""
	case "gemini":
		_, number := e.Error.Code.(float64)
		return number && e.Error.Status != ""
	}
	return e.Error.Type == openai || e.Error.Type == "server_error" // the upstream's own
}
