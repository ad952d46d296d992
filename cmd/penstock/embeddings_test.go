package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestEmbeddings asks for embeddings in both dialects, of providers of both.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, ":embedContent"):
			io.WriteString(w, `{"embedding":{"values":[0.25,-1]}}`)
		case strings.HasSuffix(r.URL.Path, ":batchEmbedContents"):
			io.WriteString(w, `{"embeddings":[{"values":[0.25,-1]},{"values":[1,2]}]}`)
		case r.URL.Path == "/v1/embeddings":
			io.WriteString(w, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.25,-1]},{"object":"embedding","index":1,"embedding":[1,2]}],"model":"up","usage":{"prompt_tokens":7,"total_tokens":7}}`)
		default:
			http.NotFound(w, r)
		}
	})
	s := serveText(t, `
providers:
  google: {plugin: gemini, base_url: `+u.URL+`, credentials: [{name: main, api_key: k}]}
  openai: {plugin: openai, base_url: `+u.URL+`, credentials: [{name: main, api_key: k}]}
models:
  g: {deployments: [{provider: google, model: gemini-embedding-001}]}
  o: {deployments: [{provider: openai, model: text-embedding-3-small}]}
keys: [{name: test, secret: `+testKey+`, dialects: [openai-embeddings, gemini-embeddings]}]
`)
	f := func(path, body, want, asked, sent string) {
		t.Helper()
		a := s.post(path, body)
		got := u.last()
		if a.status != 200 || a.body != want || got.path != asked || got.body != sent {
			t.Errorf("%s %s: %d %s\nasked %s %s\nwant %s\nasked %s %s", path, body, a.status, a.body, got.path, got.body, want, asked, sent)
		}
	}
	const single, batch = "/v1beta/models/gemini-embedding-001:embedContent", "/v1beta/models/gemini-embedding-001:batchEmbedContents"
	f("/v1beta/models/g:embedContent", `{"model":"models/g","content":{"parts":[{"text":"a"}]},"taskType":"CLUSTERING"}`,
		`{"embedding":{"values":[0.25,-1]}}`, single, `{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"taskType":"CLUSTERING"}`)
	f("/v1beta/models/g:batchEmbedContents", `{"requests":[{"model":"models/g","content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`,
		`{"embeddings":[{"values":[0.25,-1]},{"values":[1,2]}]}`, batch,
		`{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]},"model":"models/gemini-embedding-001"}]}`)
	f("/v1/embeddings", `{"model":"g","input":["a","b"],"encoding_format":"base64"}`,
		`{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPgAAgL8="},{"object":"embedding","index":1,"embedding":"AACAPwAAAEA="}],"model":"g","usage":{"prompt_tokens":0,"total_tokens":0}}`,
		batch, `{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]}},{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"b"}]}}]}`)
	f("/v1beta/models/o:batchEmbedContents", `{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`,
		`{"embeddings":[{"values":[0.25,-1]},{"values":[1,2]}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":0,"totalTokenCount":7}}`,
		"/v1/embeddings", `{"model":"text-embedding-3-small","input":["a","b"]}`)
	for _, r := range rowsOf(t, s) {
		if r.OutputTokens != 0 || r.InputTokens == 0 {
			t.Errorf("embeddings have input and no output, whoever counts it: got %+v", r)
		}
	}
}
