package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// partsPrice gives each part of a usage a price of its own, in whole thousands of nano-USD a token.
const partsPrice = `{input: 1, output: 2, cache_read: 3, cache_write: 4, cache_write_1h: 5, reasoning: 6, audio_input: 7, image_input: 8, audio_output: 9, image_output: 10,
      request: "0.000001", web_search: "0.00001"}`

// cost is what a usage costs by partsPrice, in nano-USD.
func (c *tokens) cost() int64 {
	plain := c.Input - c.CacheRead - c.CacheWrite - c.AudioInput - c.ImageInput
	text := c.Output - c.Reasoning - c.AudioOutput - c.ImageOutput
	return 1000*(plain+2*text+3*c.CacheRead+4*(c.CacheWrite-c.Hour)+5*c.Hour+6*c.Reasoning+7*c.AudioInput+8*c.ImageInput+9*c.AudioOutput+10*c.ImageOutput) + 1000 + 10_000*c.Searches
}

// partsSaid are answers of each provider's dialect with all the parts that it tells.
var partsSaid = []struct {
	name, provider, answer string
	want                   tokens
}{
	{"openai-chat", "plugin: openai", `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":10,"audio_tokens":30,"image_tokens":5},
		"completion_tokens_details":{"reasoning_tokens":10,"audio_tokens":20,"image_tokens":3},"server_tool_use":{"web_search_requests":2}}}`,
		tokens{Input: 100, CacheRead: 20, CacheWrite: 10, AudioInput: 30, ImageInput: 5, Output: 50, Reasoning: 10, AudioOutput: 20, ImageOutput: 3, Searches: 2}},
	{"openai-responses", "plugin: openai", `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[
		{"type":"web_search_call","id":"w1","status":"completed","action":{"type":"search","query":"q"}},{"type":"web_search_call","id":"w2","status":"completed","action":{"type":"open_page","url":"https://a.example"}},
		{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}],
		"usage":{"input_tokens":100,"output_tokens":50,"total_tokens":150,"input_tokens_details":{"cached_tokens":20},"output_tokens_details":{"reasoning_tokens":10}}}`,
		tokens{Input: 100, CacheRead: 20, Output: 50, Reasoning: 10, Searches: 1}},
	{"anthropic", "plugin: anthropic", `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,
		"usage":{"input_tokens":70,"cache_read_input_tokens":20,"cache_creation_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":6},
		"output_tokens":50,"output_tokens_details":{"thinking_tokens":10},"server_tool_use":{"web_search_requests":3}}}`,
		tokens{Input: 100, CacheRead: 20, CacheWrite: 10, Hour: 6, Output: 50, Reasoning: 10, Searches: 3}},
	{"gemini", "plugin: gemini", `{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}],
		"usageMetadata":{"promptTokenCount":90,"cachedContentTokenCount":20,"candidatesTokenCount":40,"thoughtsTokenCount":10,"toolUsePromptTokenCount":10,"totalTokenCount":150,
		"promptTokensDetails":[{"modality":"TEXT","tokenCount":40},{"modality":"AUDIO","tokenCount":30},{"modality":"IMAGE","tokenCount":15},{"modality":"VIDEO","tokenCount":5}],
		"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":15},{"modality":"VIDEO","tokenCount":5}],
		"candidatesTokensDetails":[{"modality":"TEXT","tokenCount":25},{"modality":"AUDIO","tokenCount":12},{"modality":"IMAGE","tokenCount":3}]}}`,
		tokens{Input: 100, CacheRead: 20, AudioInput: 15, ImageInput: 15, Output: 50, Reasoning: 10, AudioOutput: 12, ImageOutput: 3}},
	{"bedrock-converse", "plugin: bedrock", `{"output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"end_turn",
		"usage":{"inputTokens":70,"outputTokens":50,"totalTokens":150,"cacheReadInputTokens":20,"cacheWriteInputTokens":10,"cacheDetails":[{"ttl":"1h","inputTokens":6},{"ttl":"5m","inputTokens":4}]}}`,
		tokens{Input: 100, CacheRead: 20, CacheWrite: 10, Hour: 6, Output: 50}},
	{"cohere-chat", "plugin: cohere", `{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},
		"usage":{"billed_units":{"input_tokens":40,"output_tokens":50},"tokens":{"input_tokens":300,"output_tokens":80,"reasoning_tokens":10,"image_tokens":15},"cached_tokens":200}}`,
		tokens{Input: 40, ImageInput: 15, Output: 50, Reasoning: 10}},
}

// TestEachPartHasItsPrice follows usage with all the parts that a provider tells through the program, to clients of each
// dialect: the row has the parts, and costs what each of them costs.
func TestEachPartHasItsPrice(t *testing.T) {
	t.Parallel()
	for _, d := range partsSaid {
		t.Run(d.name, func(t *testing.T) {
			up := newUpstream(t, says("application/json", d.answer))
			s := serveText(t, fmt.Sprintf(`
providers: {up: {%s, base_url: %q, credentials: [{name: main, api_key: k}]}}
models:
  it:
    deployments:
    - {provider: up, model: m, dialect: %s, price: %s}
keys: [{name: dev, secret: %s}]
`, d.provider, up.URL, d.name, partsPrice, testKey))
			for client, form := range clientForms {
				if a := s.post(form("it", false)); a.status != http.StatusOK {
					t.Errorf("%s: %d %s", client, a.status, a.body)
				}
			}
			seen := ledgerCounts(t, s)
			if len(seen) != len(clientForms) {
				t.Errorf("%d rows, want %d", len(seen), len(clientForms))
			}
			for _, got := range seen {
				if got != d.want {
					t.Errorf("got %+v\nwant %+v", got, d.want)
				}
			}
			for _, row := range rowsOf(t, s) {
				if want := d.want.cost(); row.CostNanoUSD != want || row.Estimated {
					t.Errorf("cost %d (estimated %t), want %d", row.CostNanoUSD, row.Estimated, want)
				}
			}
			if out, _, code := s.run("ledger", "verify"); code != 0 {
				t.Errorf("verify: %s", out)
			}
		})
	}
}

// TestPriceOfTheDay holds that a call costs what is in force at its start: the price of a time that has come, of the length
// that its input has, and for each image; and that a price that is yet to come is none.
func TestPriceOfTheDay(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, says("application/json", `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":300,"completion_tokens":10,"total_tokens":310}}`))
	now := time.Now().UTC()
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	s := serveText(t, fmt.Sprintf(`
providers: {up: {plugin: openai, base_url: %q, credentials: [{name: main, api_key: k}]}}
models:
  dated:
    deployments:
    - {provider: up, model: m, price: [{input: 1, output: 1}, {from: %q, input: 2, output: 3}, {from: %q, input: 50, output: 50}]}
  long: {deployments: [{provider: up, model: m, price: {input: 1, output: 1, tiers: [{above: 299, input: 4, output: 6}, {above: 300, input: 70, output: 70}]}}]}
  pictures: {deployments: [{provider: up, model: m, price: {input: 0, output: 0, image: "0.0025"}}]}
  coming: {deployments: [{provider: up, model: m, price: {from: %q, input: 1, output: 1}}]}
  free: {deployments: [{provider: up, model: m, price: {from: "2020-01-01", input: 0, output: 0}}]}
keys:
- {name: dev, secret: %s}
- {name: poor, secret: psk-for-the-tests-of-the-program-000002, budget: {usd: 1}}
`, up.URL, day(-2), day(2), day(2), testKey))
	const picture = `{"type":"image_url","image_url":{"url":"https://a.example/a.png"}}`
	for _, f := range []struct {
		model, content string
		cost           int64
		estimated      bool
	}{
		{"dated", `"x"`, 300*2000 + 10*3000, false},
		{"long", `"x"`, 300*4000 + 10*6000, false},
		{"pictures", `[{"type":"text","text":"x"},` + picture + `,` + picture + `]`, 5_000_000, false},
		{"coming", `"x"`, 0, true},
		{"free", `"x"`, 0, false},
	} {
		a := s.post("/v1/chat/completions", `{"model":"`+f.model+`","messages":[{"role":"user","content":`+f.content+`}]}`)
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s", f.model, a.status, a.body)
		}
		rows := rowsOf(t, s)
		if r := rows[len(rows)-1]; r.Model != f.model || r.CostNanoUSD != f.cost || r.Estimated != f.estimated {
			t.Errorf("%s: got %s, cost %d (estimated %t), want %d (%t)", f.model, r.Model, r.CostNanoUSD, r.Estimated, f.cost, f.estimated)
		}
	}
	poor := func(model string, want int) {
		t.Helper()
		if a := s.post("/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer psk-for-the-tests-of-the-program-000002"); a.status != want {
			t.Errorf("%s with a budget: %d %s, want %d", model, a.status, a.body, want)
		}
	}
	poor("coming", http.StatusBadRequest)
	poor("dated", http.StatusOK)
}
