package dialect_test

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/openairesponses"
	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// TestLocate finds what a plugin names in requests of each dialect, by the client's own name.
func TestLocate(t *testing.T) {
	f := func(d dialect.Dialect, request, path, want string) {
		t.Helper()
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(request), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		if got := dialect.Locate(d, &doc, path); got != want {
			t.Errorf("%s: %s in %s is located at %q, want %q", d.Name(), path, request, got, want)
		}
	}
	chat, responses, claude, google := openaichat.Dialect{}, openairesponses.Dialect{}, anthropic.Dialect{}, gemini.Dialect{}
	f(chat, `{"stop":["a","b"]}`, "stop[1]", "stop[1]")
	f(chat, `{"stop":"a"}`, "stop[0]", "stop")
	f(chat, `{"max_tokens":1}`, "max_completion_tokens", "max_tokens")
	f(chat, `{"thinking":{"type":"enabled"}}`, "reasoning", "thinking")
	f(chat, `{"messages":[{"content":"a"}]}`, "messages[0].content[0].cache_control", "messages[0].content")
	f(chat, `{"messages":[]}`, "messages[3].content[0]", "messages")
	f(chat, `{}`, "seed", "seed")
	f(chat, `{}`, "", "")
	f(responses, `{"max_output_tokens":1,"text":{"format":{"type":"json_object"}}}`, "response_format", "text.format")
	f(responses, `{"input":[{"type":"reasoning"}]}`, "input[0].content[2]", "input[0]")
	f(claude, `{"stop_sequences":["a","b"]}`, "stop[1]", "stop_sequences[1]")
	f(claude, `{"stop_sequences":["a"]}`, "stop[7]", "stop_sequences")
	f(claude, `{"output_config":{"effort":"low"}}`, "reasoning", "output_config.effort")
	f(claude, `{}`, "reasoning", "thinking")
	f(claude, `{"system":"a"}`, "system[0]", "system")
	f(google, `{"generationConfig":{"topK":3}}`, "top_k", "generationConfig.topK")
	f(google, `{"generation_config":{"top_k":3}}`, "top_k", "generation_config.top_k")
	f(google, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`, "tool_choice", "toolConfig.functionCallingConfig")
	f(google, `{"contents":[{"parts":[{"text":"a"}]}]}`, "contents[0].parts[0].is_error", "contents[0].parts[0]")
}
