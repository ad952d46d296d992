package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings lists recorded bodies of a dialect by suffix: the committed selection, and all of a folder that
// PENSTOCK_WIRE names.
func recordings(t *testing.T, dialect, suffix string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{filepath.Join("testdata", "wire"), os.Getenv("PENSTOCK_WIRE")} {
		files, err := filepath.Glob(filepath.Join(dir, dialect, "*"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found[strings.TrimSuffix(filepath.Base(f), suffix)] = string(b)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no recordings *%s of %s", suffix, dialect)
	}
	return found
}

// twoProviders is a configuration with an openai and an anthropic provider at one upstream. Recordings of failures do not
// open its breakers.
func twoProviders(up string) string {
	return fmt.Sprintf(`
providers:
  openai: {plugin: openai, base_url: %q, credentials: [{name: main, api_key: sk-upstream-openai}]}
  claude: {plugin: anthropic, base_url: %q, credentials: [{name: main, api_key: sk-upstream-claude}]}
models:
  to-openai: {deployments: [{provider: openai, model: up-model, capabilities: [tools, images, audio, documents, thinking, json_schema]}]}
  to-claude: {deployments: [{provider: claude, model: up-model, capabilities: [tools, images, audio, documents, thinking, json_schema]}]}
keys: [{name: dev, secret: %s}]
timeout: {first_content: 5s, idle: 5s}
retry: {attempts: 1}
breaker: {failures: 1000}
`, up, up, testKey)
}

// TestRequestsPassAsBytes sends every recorded request body to an upstream of its own dialect: the bytes that arrive are
// the client's but for the members that are spliced.
func TestRequestsPassAsBytes(t *testing.T) {
	t.Parallel()
	for _, d := range []struct{ dialect, path, model, answer string }{
		{"openai-chat", "/v1/chat/completions", "to-openai", `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`},
		{"anthropic", "/v1/messages", "to-claude", `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`},
	} {
		up := newUpstream(t, says("application/json", d.answer))
		s := serveText(t, twoProviders(up.URL))
		passed := 0
		for name, body := range recordings(t, d.dialect, ".request.json") {
			var doc struct {
				Model    string
				Stream   bool
				Opts     map[string]any `json:"stream_options"`
				Provider any
			}
			if json.Unmarshal([]byte(body), &doc) != nil || doc.Model == "" || doc.Provider != nil {
				continue // not a request of this route, or one that chooses among providers, which the gateway heeds itself
			}
			quoted, _ := json.Marshal(doc.Model)
			sent := strings.Replace(body, string(quoted), `"`+d.model+`"`, 1)
			before := up.count()
			a := s.post(d.path, sent, "anthropic-version", "2023-06-01")
			if up.count() != before+1 {
				t.Errorf("%s %s: not sent: %d %s", d.dialect, name, a.status, a.body)
				continue
			}
			got := up.last().body
			want := strings.Replace(body, string(quoted), `"up-model"`, 1)
			if doc.Stream && d.dialect == "openai-chat" && doc.Opts["include_usage"] != true {
				got = withoutUsage(got)
				want = withoutUsage(want)
			}
			if got != want {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("%s %s: differs at byte %d: …%q, want …%q", d.dialect, name, i, clip(got[max(0, i-20):]), clip(want[max(0, i-20):]))
				continue
			}
			passed++
		}
		if passed == 0 {
			t.Errorf("%s: no request was passed", d.dialect)
		}
		t.Logf("%s: %d requests passed", d.dialect, passed)
	}
}

func clip(s string) string { return s[:min(len(s), 80)] }

// withoutUsage takes out what the gateway inserts to be told the usage.
func withoutUsage(body string) string {
	body = strings.Replace(body, `,"stream_options":{"include_usage":true}`, "", 1)
	return strings.Replace(body, `,"include_usage":true`, "", 1)
}

// TestStreamsPassAsBytes streams every recorded answer to a client of its own dialect, cut into pieces of odd sizes: it
// arrives byte for byte, since the client asks for usage itself.
func TestStreamsPassAsBytes(t *testing.T) {
	t.Parallel()
	for _, d := range []struct{ dialect, path, request string }{
		{"openai-chat", "/v1/chat/completions", `{"model":"to-openai","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`},
		{"anthropic", "/v1/messages", `{"model":"to-claude","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}`},
	} {
		var stream string
		size := 1
		up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for b := []byte(stream); len(b) > 0; {
				n := min(size, len(b))
				w.Write(b[:n])
				b = b[n:]
				size = size%4093 + 97
				w.(http.Flusher).Flush()
			}
		})
		s := serveText(t, twoProviders(up.URL))
		passed := 0
		for name, recorded := range recordings(t, d.dialect, ".stream.txt") {
			stream = recorded
			a := s.post(d.path, d.request)
			want := complete(recorded)
			switch {
			case a.status == 200 && (a.body == recorded || a.body == want || a.body == strings.TrimSuffix(recorded, "\n")+"\n\n"):
				passed++ // a last event that lacks its blank line is given one
			case a.status == 200 && a.body == recorded+"data: [DONE]\n\n":
				passed++ // and so is an end mark that the service leaves out, where the answer is complete
			case a.status == 200 && strings.Contains(recorded, `"error"`) && strings.HasPrefix(recorded, a.body[:strings.LastIndex(a.body, "data: {\"error\"")]):
				passed++ // an error inside the stream is told in the dialect's own form
			case a.status != 200 || strings.Contains(a.body[max(0, len(a.body)-400):], `"error"`):
				// A recording that is an error, or that breaks off, must be told as one.
				if !strings.Contains(recorded, "error") && finished(recorded) {
					t.Errorf("%s %s: %d %s", d.dialect, name, a.status, clip(a.body))
				}
			default:
				i := 0
				for i < min(len(a.body), len(recorded)) && a.body[i] == recorded[i] {
					i++
				}
				t.Errorf("%s %s: %d bytes for %d, differs at %d: %q, want %q", d.dialect, name, len(a.body), len(recorded), i, clip(a.body[i:]), clip(recorded[i:]))
			}
		}
		if passed == 0 {
			t.Errorf("%s: no stream was passed", d.dialect)
		}
		t.Logf("%s: %d streams passed", d.dialect, passed)
	}
}

// complete is a recording up to and with the end mark of its dialect; what stands behind it is not passed.
func complete(stream string) string {
	for _, mark := range []string{"data: [DONE]", "data:[DONE]", "event: message_stop"} {
		if i := strings.Index(stream, mark); i >= 0 {
			rest := stream[i:]
			if j := strings.Index(rest, "\n\n"); j >= 0 {
				return stream[:i+j+2]
			}
			if j := strings.Index(rest, "\r\n\r\n"); j >= 0 {
				return stream[:i+j+4]
			}
		}
	}
	return stream
}

func finished(stream string) bool {
	return strings.Contains(stream, "[DONE]") || strings.Contains(stream, "message_stop") || strings.Contains(stream, `"finish_reason":"`)
}

// TestUsageThatOnlyWeAskedForIsCut: a client that did not ask for usage sees neither the chunk nor the member.
func TestUsageThatOnlyWeAskedForIsCut(t *testing.T) {
	t.Parallel()
	chunk := func(delta, rest string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `}]` + rest + "}\n\n"
	}
	up := newUpstream(t, streams(chunk(`{"role":"assistant","content":""}`, `,"usage":null`), chunk(`{"content":"hi"}`, `,"usage":null`),
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`+"\n\n",
		`data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`+"\n\n", "data: [DONE]\n\n"))
	s := serveText(t, twoProviders(up.URL))
	a := s.post("/v1/chat/completions", `{"model":"to-openai","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	want := chunk(`{"role":"assistant","content":""}`, "") + chunk(`{"content":"hi"}`, "") +
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	if a.body != want {
		t.Errorf("got\n%s\nwant\n%s", a.body, want)
	}
	if !bytes.Contains([]byte(up.last().body), []byte(`"stream_options":{"include_usage":true}`)) {
		t.Errorf("the upstream was not asked for usage: %s", up.last().body)
	}
	if a.header.Get("Server-Timing") == "" || a.trailer.Get("Server-Timing") == "" {
		t.Errorf("no Server-Timing: %v, trailer %v", a.header, a.trailer)
	}
}

// TestCredentialsStayOnTheirSide: each upstream sees its own key, never the client's, and the client sees neither.
func TestCredentialsStayOnTheirSide(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Goog-Api-Key", "sk-upstream-openai")
		w.Header().Set("X-Ratelimit-Remaining-Requests", "7")
		w.WriteHeader(401)
		fmt.Fprintf(w, `{"error":{"message":"bad key %s","type":"invalid_request_error","code":"invalid_api_key"}}`, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
	})
	s := serveText(t, twoProviders(up.URL))
	for _, model := range []string{"to-openai", "to-claude"} {
		a := s.post("/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"x"}]}`, "Cookie", "c=d", "X-Org", "e")
		if a.status != 502 {
			t.Errorf("%s: an upstream's 401 is answered %d, want 502", model, a.status)
		}
		all := fmt.Sprint(a.header, a.body)
		if strings.Contains(all, "sk-upstream") || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: the client sees what is the upstream's: %s", model, all)
		}
		sent := fmt.Sprint(up.last().header, up.last().body)
		if strings.Contains(sent, testKey) || strings.Contains(sent, "c=d") || strings.Contains(sent, "X-Org") {
			t.Errorf("%s: the upstream sees what is the client's: %s", model, sent)
		}
	}
	if strings.Contains(s.log.String(), "sk-upstream") || strings.Contains(s.log.String(), testKey) {
		t.Error("a key is in the log")
	}
}
