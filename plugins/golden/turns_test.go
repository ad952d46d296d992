package golden_test

import "testing"

// What is said last must not be left out when it is empty: the turn before it would become the beginning of the answer.
func TestLastMessageEmpty(t *testing.T) {
	const all = "anthropic gemini bedrock cohere ollama"
	kinds(t, []kind{
		{name: "askalf/dario#1034", client: "chat", targets: all, err: "messages[2]: the last message is empty",
			request: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":""}]}]}`},
		{name: "system", client: "chat", targets: all, err: "messages[2]: the last message is empty",
			request: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":""}]}`},
		{name: "item", client: "responses", targets: all, err: "input[2]: the last message is empty",
			request: `{"input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":""}]}`},
		{name: "prefill", client: "chat", targets: all, want: []string{"/error"},
			request: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`},
	})
}

func TestAssistantBegins(t *testing.T) {
	kinds(t, []kind{
		{name: "livekit/agents#669", client: "chat", targets: "anthropic bedrock", noted: "messages[1].content[0]",
			want:    []string{`/messages/0/role "user"`, `/messages/0/content/0/text "."`, `/messages/1/role "assistant"`, `/messages/2/role "user"`},
			request: `{"messages":[{"role":"system","content":"s"},{"role":"assistant","content":"Hello!"},{"role":"user","content":"hi"}]}`},
		{name: "item", client: "responses", targets: "anthropic bedrock", want: []string{`/messages/0/role "user"`, `/messages/1/role "assistant"`},
			request: `{"input":[{"role":"assistant","content":"Hello!"},{"role":"user","content":"hi"}]}`},
		{name: "content", client: "gemini", targets: "anthropic bedrock", want: []string{`/messages/0/role "user"`, `/messages/1/role "assistant"`},
			request: `{"contents":[{"role":"model","parts":[{"text":"Hello!"}]},{"role":"user","parts":[{"text":"hi"}]}]}`},
	})
}

// What the system says between two results must wait: results follow their calls at once.
func TestSystemBetweenResults(t *testing.T) {
	want := []string{`/messages/2/role "tool"`, `/messages/2/tool_call_id "c1"`, `/messages/3/role "tool"`, `/messages/3/tool_call_id "c2"`,
		`/messages/4/role "system"`, `/messages/4/content "note"`, `/messages/5`}
	kinds(t, []kind{
		{name: "items", client: "responses", targets: "openai groq", want: want,
			request: `{"input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
				{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"1"},
				{"role":"system","content":"note"},{"type":"function_call_output","call_id":"c2","output":"2"}]}`},
		{name: "messages", client: "anthropic", targets: "openai groq", want: want,
			request: `{"max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}},
				{"type":"tool_use","id":"c2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"1"}]},
				{"role":"system","content":"note"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"2"}]}]}`},
	})
}

// An id that two calls of the conversation have is the id of the first; the second gets another, which its result shares.
func TestCallIDUsedTwice(t *testing.T) {
	const chat = `{"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"1"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"2"}],"tools":[{"type":"function","function":{"name":"f"}}]}`
	const one = `{"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":"1"},{"role":"tool","tool_call_id":"c","content":"2"}]}`
	kinds(t, []kind{
		{name: "ducks/claux#40", client: "chat", targets: "anthropic", request: chat, want: []string{
			`/messages/1/content/0/id "call_1"`, `/messages/2/content/0/tool_use_id "call_1"`,
			`/messages/3/content/0/id "call_1_2_b3c5a5d1d6"`, `/messages/4/content/0/tool_use_id "call_1_2_b3c5a5d1d6"`}},
		{name: "two turns", client: "chat", targets: "bedrock", request: chat, want: []string{
			`/messages/1/content/0/toolUse/toolUseId "call_1"`, `/messages/2/content/0/toolResult/toolUseId "call_1"`,
			`/messages/3/content/0/toolUse/toolUseId "call_1_2_b3c5a5d1d6"`, `/messages/4/content/0/toolResult/toolUseId "call_1_2_b3c5a5d1d6"`}},
		{name: "two turns", client: "chat", targets: "openai-responses", request: chat, want: []string{
			`/input/1/call_id "call_1"`, `/input/2/call_id "call_1"`,
			`/input/3/call_id "call_b3c5a5d1d6f7691d67a53ca9177651cf"`, `/input/4/call_id "call_b3c5a5d1d6f7691d67a53ca9177651cf"`}},
		{name: "two turns", client: "chat", targets: "openai", request: chat, want: []string{
			`/messages/1/tool_calls/0/id "call_1"`, `/messages/3/tool_calls/0/id "call_1"`, `/messages/4/tool_call_id "call_1"`}},
		{name: "one turn", client: "chat", targets: "openai", request: one, want: []string{
			`/messages/1/tool_calls/0/id "c"`, `/messages/1/tool_calls/1/id "call_3c9b6429653c1bcece90ddeeb584ac98"`,
			`/messages/2/tool_call_id "c"`, `/messages/3/tool_call_id "call_3c9b6429653c1bcece90ddeeb584ac98"`, `/messages/3/content "2"`}},
		{name: "one turn", client: "chat", targets: "gemini", request: one, want: []string{
			`/contents/2/parts/0/functionResponse {"name":"f","response":{"output":"1"}}`,
			`/contents/2/parts/1/functionResponse {"name":"g","response":{"output":"2"}}`}},
		{name: "one turn", client: "chat", targets: "ollama", request: one, want: []string{
			`/messages/2 {"content":"1","role":"tool","tool_name":"f"}`, `/messages/3 {"content":"2","role":"tool","tool_name":"g"}`}},
		{name: "one turn", client: "chat", targets: "anthropic", request: one, want: []string{
			`/messages/1/content/0/id "c"`, `/messages/1/content/1/id "c_2_3c9b642965"`,
			`/messages/2/content/0/tool_use_id "c"`, `/messages/2/content/0/content "1"`,
			`/messages/2/content/1/tool_use_id "c_2_3c9b642965"`, `/messages/2/content/1/content "2"`}},
	})
}

// A conversation whose beginning the client has cut off begins with a call, which Gemini takes after the user only.
func TestCallBegins(t *testing.T) {
	kinds(t, []kind{
		{name: "google-gemini/gemini-cli#11814", client: "chat", targets: "gemini", noted: "messages[0].tool_calls[0]",
			want: []string{`/contents/0 {"parts":[{"text":"."}],"role":"user"}`, `/contents/1/parts/0/functionCall/name "f"`, `/contents/2/parts/0/functionResponse/name "f"`},
			request: `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"c","content":"1"}]}`},
		{name: "greeting", client: "chat", targets: "gemini", want: []string{`/contents/0/role "model"`, `/contents/1/role "user"`},
			request: `{"messages":[{"role":"assistant","content":"Hello!"},{"role":"user","content":"hi"}]}`},
	})
}
