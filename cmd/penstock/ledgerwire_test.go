package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/frame"
)

// clientForms are how a client of each dialect asks, whole and for a stream.
var clientForms = map[string]func(model string, stream bool) (path, body string){
	"openai-chat": func(model string, stream bool) (path, body string) {
		return "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"max_tokens":9,"stream":%t,"messages":[{"role":"user","content":"x"}]}`, model, stream)
	},
	"anthropic": func(model string, stream bool) (path, body string) {
		return "/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":9,"stream":%t,"messages":[{"role":"user","content":"x"}]}`, model, stream)
	},
	"openai-responses": func(model string, stream bool) (path, body string) {
		return "/v1/responses", fmt.Sprintf(`{"model":%q,"stream":%t,"input":"x"}`, model, stream)
	},
	"gemini": func(model string, stream bool) (path, body string) {
		verb := ":generateContent"
		if stream {
			verb = ":streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/" + model + verb, `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`
	},
}

// recorded are the recordings of one form of a provider's dialect, in our folders and in the one that PENSTOCK_WIRE names.
type recorded struct {
	dialect  string // their folder's name
	near     string // a folder of ours beside
	provider string // as configured
	settings string // of the deployment
	model    string // "" up-model
	only     string // the client that the form has answers for; "" all
	read     func([]byte, *tokens) bool
	end      string // is in a stream that is whole
}

var accounted = []recorded{
	{dialect: "openai-chat", near: "testdata/wire/openai-chat", provider: "plugin: openai", settings: "dialect: openai-chat, ", read: chatCounts},
	{dialect: "anthropic", near: "testdata/wire/anthropic", provider: "plugin: anthropic", read: messageCounts},
	{dialect: "openai-responses", near: "../../plugins/golden/testdata/wire/openai-responses", provider: "plugin: openai", settings: "dialect: openai-responses, ", read: responseCounts, end: `"status":"completed"`},
	{dialect: "gemini", near: "../../plugins/gemini/testdata/wire", provider: "plugin: gemini", read: contentCounts, end: `"finishReason"`},
	{dialect: "bedrock", near: "../../plugins/bedrock/testdata/wire", provider: "plugin: bedrock", settings: "dialect: bedrock-converse, ", read: converseCounts, end: `"usage"`},
	{dialect: "bedrock", near: "testdata/wire/bedrock", provider: "plugin: bedrock", settings: "dialect: anthropic, ", model: "us.anthropic.claude-1", only: "anthropic", read: messageCounts, end: "bytes"},
	{dialect: "cohere", near: "../../plugins/cohere/testdata/wire", provider: "plugin: cohere", read: cohereCounts, end: `message-end`},
}

// files gives the contents of the recordings whose names end so.
func (r *recorded) files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	folders := []string{r.near}
	if more := os.Getenv("PENSTOCK_WIRE"); more != "" {
		folders = append(folders, filepath.Join(more, r.dialect))
	}
	found := map[string]string{}
	for _, folder := range folders {
		list, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found[strings.TrimSuffix(filepath.Base(f), suffix)] = string(b)
		}
	}
	return found
}

// whole says whether a stream was recorded to its end.
func (r *recorded) whole(stream string) bool {
	if r.end == "" {
		return finished(stream)
	}
	return strings.Contains(stream, r.end) || strings.Contains(stream, strings.ReplaceAll(r.end, `":"`, `": "`))
}

// data gives what a stream's events hold: of lines, and of Bedrock's frames.
func (r *recorded) data(t *testing.T, stream string) (list [][]byte) {
	t.Helper()
	if r.dialect != "bedrock" {
		for line := range strings.Lines(complete(stream)) {
			if data, ok := strings.CutPrefix(line, "data:"); ok {
				list = append(list, []byte(data))
			}
		}
		return list
	}
	s := frame.NewEventStream(0)
	s.Feed([]byte(stream))
	for f, ok, err := s.Next(); ok; f, ok, err = s.Next() {
		if err != nil {
			t.Fatal(err)
		}
		data := bytes.Clone(f.Data)
		var chunk struct{ Bytes []byte } // of InvokeModel: an event in base64
		if json.Unmarshal(data, &chunk) == nil && chunk.Bytes != nil {
			data = chunk.Bytes
		}
		list = append(list, data)
	}
	return list
}

// TestLedgerOfRecordings serves every recorded answer to a client of each dialect: the tokens of its row are those of the
// recording, by the provider's own definition.
func TestLedgerOfRecordings(t *testing.T) {
	t.Parallel()
	for _, r := range accounted {
		t.Run(r.dialect+r.only, func(t *testing.T) { r.account(t) })
	}
}

func (r *recorded) account(t *testing.T) {
	up := newUpstream(t, nil)
	s := serveText(t, fmt.Sprintf(`
providers: {up: {%s, base_url: %q, credentials: [{name: main, api_key: k}]}}
models: {to-it: {deployments: [{provider: up, model: %s, %scapabilities: [tools, images, audio, documents, thinking, json_schema]}]}}
keys: [{name: dev, secret: %s}]
timeout: {first_content: 5s, idle: 5s}
retry: {attempts: 1}
breaker: {failures: 1000}
`, r.provider, up.URL, cmp.Or(r.model, "up-model"), r.settings, testKey))
	want, names, refused := map[string]tokens{}, map[string]string{}, []string{}
	serve := func(name, body, contentType string, stream bool, c tokens) {
		up.answer = func(w http.ResponseWriter, req *http.Request) { says(contentType, body)(w, req) }
		for client, form := range clientForms {
			if r.only != "" && client != r.only {
				continue
			}
			a := s.post(form("to-it", stream))
			if a.status != 200 || strings.Contains(a.body[max(0, len(a.body)-400):], `"error":{`) {
				refused = append(refused, fmt.Sprintf("%s to %s: %d %.80s", name, client, a.status, a.body))
				continue
			}
			id := a.header.Get("x-request-id")
			want[id], names[id] = c, name+" to "+client
		}
	}
	streamType, suffix := "text/event-stream", ".stream.txt"
	if r.dialect == "bedrock" {
		streamType, suffix = "application/vnd.amazon.eventstream", ".stream.bin"
	}
	for name, stream := range r.files(t, suffix) {
		var c tokens
		found := false
		for _, data := range r.data(t, stream) {
			found = r.read(data, &c) || found
		}
		if found && r.whole(stream) {
			serve(name, stream, streamType, true, c)
		}
	}
	for name, body := range r.files(t, ".response.json") {
		var c tokens
		if r.read([]byte(body), &c) {
			serve(name, body, "application/json", false, c)
		}
	}
	if len(want) == 0 {
		t.Fatal("no recording with usage was served")
	}
	seen := ledgerCounts(t, s)
	for id, c := range want {
		if got, ok := seen[id]; !ok || got != c {
			t.Errorf("%s: the ledger has %+v (%v), want %+v", names[id], got, ok, c)
		}
	}
	if len(refused) > len(want)/10 {
		t.Errorf("%d answers accounted for, too many were errors to the client: %q", len(want), refused)
	}
}

// ledgerCounts reads the settled rows of a running gateway.
func ledgerCounts(t *testing.T, s *served) map[string]tokens {
	t.Helper()
	out, errs, code := s.run("ledger", "list", "-o", "jsonl")
	if code != 0 {
		t.Fatalf("ledger list: exit %d\n%s", code, errs)
	}
	seen := map[string]tokens{}
	for line := range strings.Lines(out) {
		var row struct {
			RequestID string `json:"request_id"`
			Status    string
			tokens
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, twice := seen[row.RequestID]; twice {
			t.Errorf("%s: two rows", row.RequestID)
		}
		if row.Status == "settled" {
			seen[row.RequestID] = row.tokens
		}
	}
	return seen
}
