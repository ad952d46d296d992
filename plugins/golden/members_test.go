package golden_test

import "testing"

// Coding clients send members that say how the provider works; a provider without them serves the request all the same.
func TestAdvisoryMembers(t *testing.T) {
	const all = "openai openai-responses gemini bedrock cohere ollama groq"
	kinds(t, []kind{
		{name: "context management", client: "anthropic", targets: all, noted: "context_management",
			want:    []string{"/context_management"},
			request: `{"max_tokens":9,"messages":[{"role":"user","content":"x"}],"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}}`},
		{name: "safety settings", client: "gemini", targets: "openai openai-responses anthropic bedrock cohere ollama groq", noted: "safetySettings",
			want:    []string{"/safetySettings"},
			request: `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"safetySettings":[{"category":"HARM_CATEGORY_HATE_SPEECH","threshold":"BLOCK_NONE"}]}`},
		{name: "verbosity", client: "responses", targets: "anthropic gemini bedrock cohere ollama groq", noted: "text.verbosity",
			want:    []string{"/verbosity", "/text"},
			request: `{"input":"x","text":{"verbosity":"low"}}`},
		{name: "verbosity", client: "responses", targets: "openai", want: []string{`/verbosity "low"`, "/text"},
			request: `{"input":"x","text":{"verbosity":"low"}}`},
		{name: "verbosity", client: "chat", targets: "openai-responses", want: []string{`/text/verbosity "low"`, "/verbosity"},
			request: `{"messages":[{"role":"user","content":"x"}],"verbosity":"low"}`},
		{name: "a member that nobody knows", client: "chat", targets: "openai-responses", noted: "x_thing",
			want: []string{"/x_thing"}, request: `{"messages":[{"role":"user","content":"x"}],"x_thing":1}`},
	})
}

// A model that must go on with the beginning of its answer, or whose thinking of the turn is lost, is not asked to think.
func TestThinkingThatCannotBe(t *testing.T) {
	const prefill = `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{"}],"max_completion_tokens":4000,"reasoning_effort":"high"}`
	const lost = `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":"1"}],"max_completion_tokens":4000,"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"f"}}]}`
	gone := []string{"/thinking", "/additionalModelRequestFields"}
	kinds(t, []kind{
		{name: "prefill", client: "chat", targets: "anthropic bedrock", request: prefill, want: gone, noted: "reasoning"},
		{name: "lost", client: "chat", targets: "anthropic bedrock", request: lost, want: gone, noted: "reasoning"},
	})
}
