package main

import (
	"fmt"
	"net/http"
	"testing"
)

// oddUsage are answers whose usage is not as the provider's documentation has it, and what their rows are to say to
// whichever client they went.
var oddUsage = []struct {
	name, dialect  string
	stream         bool
	answer, status string
	input, output  int64 // 0: some, by estimate
}{
	{"in the choice", "openai-chat", true, "data: " + oddChunk(`,"usage":{"prompt_tokens":10,"completion_tokens":2}`) + "\n\ndata: [DONE]\n\n", "settled", 10, 2},
	{"a total alone", "openai-chat", false, oddChat(`{"total_tokens":15}`), "estimated", 0, 0},
	{"half of it", "openai-chat", false, oddChat(`{"prompt_tokens":15}`), "estimated", 15, 0},
	{"texts", "openai-chat", false, oddChat(`{"prompt_tokens":"15","completion_tokens":"2"}`), "estimated", 0, 0},
	{"below zero", "openai-chat", false, oddChat(`{"prompt_tokens":-10,"completion_tokens":2}`), "settled", 0, 2},
	{"all below zero", "openai-chat", false, oddChat(`{"prompt_tokens":-10,"completion_tokens":-2}`), "estimated", 0, 0},
	{"more than there can be", "openai-chat", false, oddChat(`{"prompt_tokens":100000000000000000,"completion_tokens":2}`), "estimated", 0, 0},
	{"zeros", "openai-chat", false, oddChat(`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`), "estimated", 0, 0},
	{"at the start alone", "anthropic", true, oddStart(`{"input_tokens":10,"output_tokens":1}`) + oddText + oddEnd(""), "estimated", 10, 0},
	{"totals, twice", "anthropic", true, oddStart(`{"input_tokens":10,"output_tokens":1}`) + oddText + oddEnd(`,"usage":{"output_tokens":20}`), "settled", 10, 20},
	{"all at the end", "anthropic", true, oddStart(`{"input_tokens":0,"output_tokens":0}`) + oddText + oddEnd(`,"usage":{"input_tokens":10,"output_tokens":20}`), "settled", 10, 20},
}

func oddChunk(more string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"` + more + `}]}`
}

func oddChat(usage string) string {
	return `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":` + usage + `}`
}

func oddStart(usage string) string {
	return `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":` + usage + "}}\n\n"
}

const oddText = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"an answer that is longer than one token is"}}

data: {"type":"content_block_stop","index":0}

`

func oddEnd(usage string) string {
	return `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null}` + usage + "}\n\ndata: {\"type\":\"message_stop\"}\n\n"
}

// TestOddUsage: what a provider says that cannot be all of the truth is reckoned, and never free; what it does say stands.
func TestOddUsage(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	s := serveText(t, fmt.Sprintf(`
providers:
  openai-chat: {plugin: openai, base_url: %[1]q, credentials: [{name: main, api_key: k}]}
  anthropic: {plugin: anthropic, base_url: %[1]q, credentials: [{name: main, api_key: k}]}
models:
  openai-chat: {deployments: [{provider: openai-chat, model: m, dialect: openai-chat, price: {input: 1, output: 10}}]}
  anthropic: {deployments: [{provider: anthropic, model: m, price: {input: 1, output: 10}}]}
keys: [{name: dev, secret: %[2]s}]
`, up.URL, testKey))
	asked := map[string]int{} // the answer's number, by request
	for i, odd := range oddUsage {
		contentType := "application/json"
		if odd.stream {
			contentType = "text/event-stream"
		}
		up.answer = func(w http.ResponseWriter, r *http.Request) { says(contentType, odd.answer)(w, r) }
		for _, client := range [...]string{"openai-chat", "anthropic"} {
			a := s.post(clientForms[client](odd.dialect, odd.stream))
			if a.status != http.StatusOK {
				t.Errorf("%s to %s: %d %s", odd.name, client, a.status, a.body)
			}
			asked[a.header.Get("x-request-id")] = i
		}
	}
	rows := rowsOf(t, s)
	if len(rows) != 2*len(oddUsage) {
		t.Errorf("%d rows, want %d", len(rows), 2*len(oddUsage))
	}
	for _, r := range rows {
		odd := oddUsage[asked[r.RequestID]]
		fits := func(got, want int64) bool { return got == want || want == 0 && got > 0 }
		if r.Status != odd.status || !fits(r.InputTokens, odd.input) || !fits(r.OutputTokens, odd.output) || r.CostNanoUSD != 1000*r.InputTokens+10_000*r.OutputTokens {
			t.Errorf("%s: %s, %d input, %d output, cost %d; want %s, %d, %d and their price", odd.name, r.Status, r.InputTokens, r.OutputTokens, r.CostNanoUSD, odd.status, odd.input, odd.output)
		}
		if whole := odd.input > 0 && odd.output > 0; r.Estimated == whole {
			t.Errorf("%s: estimated %t", odd.name, r.Estimated)
		}
	}
}
