package golden_test

import (
	"strings"
	"testing"
)

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
		{name: "a name in other letters", client: "chat", targets: "anthropic gemini bedrock cohere ollama openai-responses", noted: "Model",
			want: []string{"/Model"}, request: `{"messages":[{"role":"user","content":"x"}],"Model":"big"}`},
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

// A tool takes an object, and services refuse a schema that does not say so.
func TestSchemaWithoutType(t *testing.T) {
	const want = `{"properties":{"a":{"type":"string"}},"type":"object"}`
	// Long enough that the gateway keeps it, and the plugin does not see it.
	long := `"description":"` + strings.Repeat("x", 300) + `"`
	kinds(t, []kind{
		{name: "lidge-jun/opencodex#75", client: "chat", targets: "anthropic", want: []string{"/tools/0/input_schema " + want},
			request: `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}}}}}]}`},
		{name: "long", client: "responses", targets: "anthropic", want: []string{`/tools/0/input_schema/type "object"`},
			request: `{"input":"x","tools":[{"type":"function","name":"f","parameters":{` + long + `,"properties":{}}}]}`},
		{name: "of a function", client: "responses", targets: "openai", want: []string{"/tools/0/function/parameters " + want},
			request: `{"input":"x","tools":[{"type":"function","name":"f","parameters":{"properties":{"a":{"type":"string"}}}}]}`},
		{name: "of OpenAPI", client: "gemini", targets: "openai", want: []string{"/tools/0/function/parameters " + want},
			request: `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"properties":{"a":{"type":"STRING"}}}}]}]}`},
		{name: "of a function", client: "chat", targets: "gemini", want: []string{"/tools/0/functionDeclarations/0/parametersJsonSchema " + want},
			request: `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}}}}}]}`},
		{name: "of a function", client: "chat", targets: "bedrock", want: []string{"/toolConfig/tools/0/toolSpec/inputSchema/json " + want},
			request: `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"a":{"type":"string"}}}}}]}`},
		{name: "reference", client: "chat", targets: "anthropic", want: []string{`/tools/0/input_schema/$ref "#/$defs/a"`},
			request: `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}}}]}`},
		{name: "without properties", client: "anthropic", targets: "openai",
			want:    []string{`/tools/0/function/parameters {"additionalProperties":false,"properties":{},"type":"object"}`},
			request: `{"max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","additionalProperties":false}}]}`},
		{name: "properties elsewhere", client: "anthropic", targets: "openai",
			want:    []string{`/tools/0/function/parameters {"anyOf":[{"properties":{}}],"type":"object"}`},
			request: `{"max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","anyOf":[{"properties":{}}]}}]}`},
	})
}

// A limit of 0 is refused: no service takes it, and without it the answer would have none.
func TestLimitOfZero(t *testing.T) {
	const all = "openai openai-responses anthropic gemini bedrock cohere ollama"
	kinds(t, []kind{
		{name: "max_tokens", client: "chat", targets: all, err: "max_tokens: want a whole number above zero, got 0",
			request: `{"messages":[{"role":"user","content":"x"}],"max_tokens":0}`},
		{name: "max_output_tokens", client: "responses", targets: all, err: "max_output_tokens: want a whole number above zero, got 0",
			request: `{"input":"x","max_output_tokens":0}`},
		{name: "maxOutputTokens", client: "gemini", targets: all, err: "generationConfig.maxOutputTokens: want a whole number above zero, got 0",
			request: `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":0}}`},
		{name: "null", client: "chat", targets: "openai", want: []string{"/max_completion_tokens"},
			request: `{"messages":[{"role":"user","content":"x"}],"max_tokens":null}`},
	})
}

// Services refuse a request with more than four marks.
func TestCacheMarksTooMany(t *testing.T) {
	const cc = `"cache_control":{"type":"ephemeral"}`
	const six = `{"max_tokens":9,"system":[{"type":"text","text":"a",` + cc + `},{"type":"text","text":"b",` + cc + `}],
		"tools":[{"name":"f","input_schema":{"type":"object","properties":{}},` + cc + `}],
		"messages":[{"role":"user","content":[{"type":"text","text":"c",` + cc + `}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1",` + cc + `}]},{"type":"text","text":"d",` + cc + `}]}]}`
	const chat = `{"messages":[{"role":"system","content":[{"type":"text","text":"a",` + cc + `},{"type":"text","text":"b",` + cc + `}]},
		{"role":"user","content":[{"type":"text","text":"1",` + cc + `},{"type":"text","text":"2",` + cc + `},{"type":"text","text":"3",` + cc + `}]}]}`
	kinds(t, []kind{
		{name: "Wei-Shaw/sub2api#176", client: "chat", targets: "anthropic", request: chat, noted: "messages[1].content[0].cache_control",
			want: []string{`/system/0/cache_control/type "ephemeral"`, `/system/1/cache_control/type "ephemeral"`, "/messages/0/content/0/cache_control",
				`/messages/0/content/1/cache_control/type "ephemeral"`, `/messages/0/content/2/cache_control/type "ephemeral"`}},
		{name: "results and tools", client: "anthropic", targets: "bedrock", request: six, noted: "messages[2].content[0].cache_control",
			want: []string{`/system/1/cachePoint/type "default"`, `/system/3/cachePoint/type "default"`, `/toolConfig/tools/1/cachePoint/type "default"`,
				"/messages/0/content/1", `/messages/2/content/1/text "d"`, `/messages/2/content/2/cachePoint/type "default"`}},
		{name: "on what a result holds", client: "anthropic", targets: "bedrock", want: []string{`/messages/2/content/1/cachePoint/type "default"`},
			request: `{"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1",` + cc + `}]}]}]}`},
		{name: "four", client: "chat", targets: "anthropic", want: []string{`/cache_control/type "ephemeral"`, "/system/0/cache_control", `/messages/0/content/0/cache_control/type "ephemeral"`},
			request: `{` + cc + `,"messages":[{"role":"system","content":[{"type":"text","text":"a",` + cc + `},{"type":"text","text":"b",` + cc + `},{"type":"text","text":"c",` + cc + `}]},
				{"role":"user","content":[{"type":"text","text":"1",` + cc + `}]}]}`},
	})
}

// A form of the answer that the model does not take beside tools is no silent loss.
func TestFormatBesideTools(t *testing.T) {
	const tool = `"tools":[{"type":"function","function":{"name":"f"}}]`
	const schema = `"response_format":{"type":"json_schema","json_schema":{"name":"r","schema":{"type":"object"}}}`
	kinds(t, []kind{
		{name: "googleapis/python-genai#867", client: "chat", targets: "gemini", noted: "response_format",
			want: []string{"/generationConfig/responseMimeType", "/generationConfig/responseJsonSchema"}, request: `{"messages":[{"role":"user","content":"x"}],` + tool + `,` + schema + `}`},
		{name: "no tools", client: "chat", targets: "gemini", want: []string{`/generationConfig/responseMimeType "application/json"`},
			request: `{"messages":[{"role":"user","content":"x"}],"tools":[],` + schema + `}`},
		{name: "beside tools", client: "chat", targets: "openai anthropic", want: []string{"/generationConfig"},
			request: `{"messages":[{"role":"user","content":"x"}],` + tool + `,` + schema + `}`},
	})
}

// A mark on the request as a whole stands at its end.
func TestCacheMarkOfRequest(t *testing.T) {
	kinds(t, []kind{
		{name: "BerriAI/litellm#26320", client: "chat", targets: "bedrock", want: []string{`/messages/0/content/1 {"cachePoint":{"type":"default"}}`},
			request: `{"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"x"}]}`},
		{name: "marked already", client: "anthropic", targets: "bedrock", want: []string{`/messages/0/content/1 {"cachePoint":{"type":"default"}}`, "/messages/0/content/2"},
			request: `{"max_tokens":9,"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`},
	})
}

// Arguments in the history are what a model wrote, at times no good object: what they can mean is sent, and the rest is a fault
// of the request.
func TestArgumentsOfHistory(t *testing.T) {
	with := func(arguments string) string {
		return `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
			"function":{"name":"f","arguments":"` + arguments + `"}}]},{"role":"tool","tool_call_id":"c","content":"1"}]}`
	}
	item := func(arguments string) string {
		return `{"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"` + arguments + `"},
			{"type":"function_call_output","call_id":"c","output":"1"}]}`
	}
	const anthropic, gemini = "/messages/1/content/0/input ", "/contents/1/parts/0/functionCall/args "
	const bad = ": want the text of a JSON object"
	kinds(t, []kind{
		{name: "twice", client: "chat", targets: "anthropic", request: with(`{\"a\":1,\"b\":[{\"c\":1,\"c\":2}],\"\\u0061\":3}`), want: []string{anthropic + `{"a":3,"b":[{"c":2}]}`}},
		{name: "twice", client: "responses", targets: "gemini", request: item(`{\"a\":1,\"a\":2}`), want: []string{gemini + `{"a":2}`}},
		{name: "null", client: "chat", targets: "anthropic", request: with(`null`), want: []string{anthropic + `{}`}},
		{name: "blank", client: "responses", targets: "anthropic", request: item(` \n`), want: []string{anthropic + `{}`}},
		{name: "BerriAI/litellm#33678", client: "responses", targets: "anthropic", request: item(`{}{}`),
			err: "input[1].arguments" + bad + ": line 1 column 3: unexpected '{', want the end of the text"},
		{name: "list", client: "chat", targets: "gemini", request: with(`[1]`), err: "messages[1].tool_calls[0].function.arguments" + bad},
	})
}
