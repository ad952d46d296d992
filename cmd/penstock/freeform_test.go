package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// patch is what the models of these tests give the tool. As JSON it has escapes of all kinds.
const patch = "*** Begin Patch\n+\"é\"\\\t😀\n"

// patchTool is a tool with free-form input and a grammar, as Codex declares its own.
const patchTool = `{"type":"custom","name":"apply_patch","description":"edits files",` +
	`"format":{"type":"grammar","syntax":"lark","definition":"start: begin LF+"}}`

// claudePatches is a stream that calls the tool. The arguments come in pieces that are cut within a name and within escapes.
var claudePatches = strings.Join([]string{
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
		`"usage":{"input_tokens":9,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I edit."}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"apply_patch","input":{}}}`,
	pieceOf(`{"inp`), pieceOf(`ut": "*** Begin Patch\`), pieceOf(`n+\"\u00`),
	pieceOf(`e9\"\\\t\ud83d`), pieceOf(`\ude00\n"`), pieceOf(`}`),
	`{"type":"content_block_stop","index":1}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":20}}`,
	`{"type":"message_stop"}`,
}, "\n")

// pieceOf is a piece of the arguments of the call in claudePatches.
func pieceOf(arguments string) string {
	return `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":` + quoted(arguments) + `}}`
}

// geminiPatches is a stream that calls the tool, with a signature that must come back.
var geminiPatches = `{"candidates":[{"content":{"role":"model","parts":[{"text":"I edit."}]},"index":0}],"responseId":"r"}
{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"apply_patch","args":{"input":` + quoted(patch) + `}},` +
	`"thoughtSignature":"c2lnbmVk"}]},"finishReason":"STOP","index":0}],` +
	`"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":20,"totalTokenCount":29},"responseId":"r"}`

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// TestFreeForm has an agent that speaks OpenAI responses and has a tool with free-form input work with models that know
// functions alone, for two turns: they see a function with one text, and the agent calls of its tool.
func TestFreeForm(t *testing.T) {
	t.Parallel()
	stream := func(frames string) *upstream {
		return newUpstream(t, streams("data: "+strings.ReplaceAll(frames, "\n", "\n\ndata: ")+"\n\n"))
	}
	claude, gemini := stream(claudePatches), stream(geminiPatches)
	s := serveText(t, fmt.Sprintf(`
providers:
  claude: {plugin: anthropic, base_url: %q, credentials: [{name: main, api_key: sk-1}]}
  gemini: {plugin: gemini, base_url: %q, credentials: [{name: main, api_key: sk-2}]}
models:
  claude: {deployments: [{provider: claude, model: claude-sonnet-4-5}]}
  gemini: {deployments: [{provider: gemini, model: gemini-2.5-pro}]}
keys: [{name: dev, secret: %s}]
`, claude.URL, gemini.URL, testKey))
	const parameters = `{"type":"object","required":["input"],"properties":{"input":{"type":"string","description":"The input of the tool,` +
		` as free text. It is handed to the tool as it stands. It must follow this grammar, in the syntax lark:\nstart: begin LF+"}}}`
	arguments := `{"input":` + quoted(patch) + `}`
	for _, c := range []struct {
		model string
		up    *upstream
		tool  string // what the upstream is told of the tool
		turns string // the member that the conversation is
		said  string // the conversation of the second turn
	}{
		{"claude", claude, `[{"name":"apply_patch","description":"edits files","input_schema":` + parameters + `}]`, "messages",
			`[{"role":"user","content":[{"type":"text","text":"edit"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"I edit."},` +
				`{"type":"tool_use","id":"toolu_1","name":"apply_patch","input":` + arguments + `}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"patched"}]}]`},
		{"gemini", gemini, `[{"functionDeclarations":[{"name":"apply_patch","description":"edits files","parametersJsonSchema":` +
			parameters + `}]}]`, "contents",
			`[{"role":"user","parts":[{"text":"edit"}]},` +
				`{"role":"model","parts":[{"text":"I edit."},` +
				`{"functionCall":{"name":"apply_patch","args":` + arguments + `},"thoughtSignature":"c2lnbmVk"}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"apply_patch","response":{"output":"patched"}}}]}]`},
	} {
		output, id := s.patched(c.model, `[{"role":"user","content":"edit"}]`)
		same(t, c.model+" is told of the tool", c.tool, member(t, c.up.last().body, "tools"))
		s.patched(c.model, `[{"role":"user","content":"edit"},`+strings.Trim(output, "[]")+
			`,{"type":"custom_tool_call_output","call_id":`+quoted(id)+`,"output":"patched"}]`)
		same(t, c.model+" is told of its call", c.said, member(t, c.up.last().body, c.turns))
	}
}

// patched asks a model that has the tool, sees that the events of the stream tell of a call of it and agree on its input, and
// gives the items of the output and the call's id.
func (s *served) patched(model, input string) (output, id string) {
	s.t.Helper()
	a := s.post("/v1/responses", fmt.Sprintf(`{"model":%q,"stream":true,"store":false,"input":%s,"tools":[%s]}`, model, input, patchTool))
	if got := a.header.Get("x-penstock-dropped"); a.status != 200 || got != "tools[0].format;approximate" {
		s.t.Fatalf("%s: %d, dropped %q\n%s", model, a.status, got, a.body)
	}
	type item struct {
		Type, Name, Input string
		CallID            string `json:"call_id"`
	}
	var told strings.Builder
	var deltas string
	for line := range strings.Lines(a.body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type, Delta, Input string
			Item               item
			Response           struct{ Output json.RawMessage }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		switch e.Type {
		case "response.custom_tool_call_input.delta":
			deltas += e.Delta
		case "response.custom_tool_call_input.done":
			fmt.Fprintf(&told, "input %q\n", e.Input)
		case "response.output_item.added", "response.output_item.done":
			if e.Item.Name == "apply_patch" {
				id = e.Item.CallID
				fmt.Fprintf(&told, "%s %s %q\n", strings.TrimPrefix(e.Type, "response.output_item."), e.Item.Type, e.Item.Input)
			}
		case "response.completed":
			output = string(e.Response.Output)
			fmt.Fprintf(&told, "completed %t\n", strings.Contains(output, `"type":"custom_tool_call"`))
		}
	}
	want := fmt.Sprintf("added custom_tool_call \"\"\ninput %[1]q\ndone custom_tool_call %[1]q\ncompleted true\n", patch)
	if diff := cmp.Diff(want+patch, told.String()+deltas); diff != "" || id == "" || strings.Contains(a.body, "function_call") {
		s.t.Fatalf("%s (-want +told):\n%s\n%s", model, diff, a.body)
	}
	return output, id
}

// member gives a member of a JSON object.
func member(t *testing.T, body, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return string(members[name])
}

// same holds two JSON texts against each other.
func same(t *testing.T, what, want, got string) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%s: %s: %v", what, got, err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
