package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestPathsThatNameTheModel: on Azure's paths the deployment of the path counts, whether the body names a model, another one, or
// none; a body may begin with a byte order mark, which no provider is sent.
func TestPathsThatNameTheModel(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("application/json", chatAnswer))
	s := serveText(t, twoProviders(up.URL))
	for path, body := range map[string]string{
		"/openai/deployments/to-openai/chat/completions?api-version=2024-10-21":   `{"messages":[{"role":"user","content":"hi"}]}`,
		"/openai/deployments/to%2Dopenai/chat/completions?api-version=2024-10-21": `{"model":"other","messages":[{"role":"user","content":"hi"}]}`,
		"/openai/deployments/to-openai/chat/completions":                          `{"model":null,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1/v1/chat/completions/":                                                "\ufeff" + `{"model":"to-openai","messages":[{"role":"user","content":"hi"}]}`,
	} {
		a := s.post(path, body)
		got := up.last().body
		if a.status != 200 || !strings.HasPrefix(got, "{") || strings.Count(got, `"model"`) != 1 || !strings.Contains(got, `"model":"up-model"`) {
			t.Errorf("%s %s: %d %s; sent %s", path, body, a.status, a.body, got)
		}
	}
	up.answer = streams(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	a := s.post("/openai/deployments/to-openai/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if a.status != 200 || spoken(a.body) != "Hello" {
		t.Errorf("a stream: %d %s", a.status, a.body)
	}
	for _, body := range []string{`[]`, `"x"`, ``} {
		if a := s.post("/openai/deployments/to-openai/chat/completions", body); a.status != 400 || !strings.Contains(a.body, "invalid_request_error") {
			t.Errorf("%q: %d %s, want 400", body, a.status, a.body)
		}
	}
}

// TestWebPages: pages of the origins that are configured may ask and read every answer, failures and streams too; others may not,
// and without the setting none is.
func TestWebPages(t *testing.T) {
	t.Parallel()
	const page, other = "https://app.example.com", "https://else.example.com"
	up := newUpstream(t, says("application/json", chatAnswer))
	config := twoProviders(up.URL)
	s := serveText(t, config)
	f := func(method, path, origin string, status int, allowed, varies string) *http.Response {
		t.Helper()
		res, text := s.askFrom(origin, method, path)
		h := res.Header
		if res.StatusCode != status || h.Get("Access-Control-Allow-Origin") != allowed || h.Get("Timing-Allow-Origin") != allowed || h.Get("Vary") != varies {
			t.Errorf("%s %s from %s: %d %v %s, want %d for %q", method, path, origin, res.StatusCode, h, text, status, allowed)
		}
		return res
	}
	f("POST", "/v1/chat/completions", page, 200, "", "")
	f("OPTIONS", "/v1/chat/completions", page, 405, "", "")

	s.rewrite(config + "cors: {origins: [" + page + ", \"null\"]}\n")
	s.await("the origins", func() bool {
		res, _ := s.askFrom(page, "OPTIONS", "/v1/chat/completions")
		return res.StatusCode == 204
	})
	res := f("OPTIONS", "/v1/chat/completions", page, 204, page, "Origin")
	if got := res.Header.Get("Access-Control-Allow-Headers"); got != "authorization,x-stainless-lang" || !strings.Contains(res.Header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("the fields and methods that are allowed: %v", res.Header)
	}
	f("OPTIONS", "/v1/messages", "null", 204, "null", "Origin")
	f("OPTIONS", "/v1/chat/completions", other, 403, "", "Origin")
	f("POST", "/v1/chat/completions", other, 200, "", "Origin")
	f("POST", "/v1/nothing", page, 404, page, "Origin")
	f("GET", "/v1/models", page, 200, page, "Origin")
	if res := f("POST", "/v1/chat/completions", page, 200, page, "Origin"); res.Header.Get("Access-Control-Expose-Headers") != "*" {
		t.Errorf("an answer: %v, want its fields to be read", res.Header)
	}

	s.rewrite(config + "cors: {origins: [\"*\"]}\n")
	s.await("any origin", func() bool {
		res, _ := s.askFrom(other, "GET", "/v1/models")
		return res.Header.Get("Access-Control-Allow-Origin") == "*"
	})
	f("OPTIONS", "/v1/messages", other, 204, "*", "")
}

// askFrom asks as a browser does for a page of an origin.
func (s *served) askFrom(origin, method, path string) (*http.Response, string) {
	s.t.Helper()
	body := ""
	if method == "POST" {
		body = `{"model":"to-openai","messages":[{"role":"user","content":"hi"}]}`
	}
	req, err := http.NewRequest(method, s.API+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	if method == "OPTIONS" {
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "authorization,x-stainless-lang")
	} else {
		req.Header.Set("Authorization", "Bearer "+testKey)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(text)
}
