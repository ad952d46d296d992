package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// said is what a reader of an answer ends with.
type said struct {
	text, finish string
	calls        []string // NAME ARGUMENTS, with arguments as compact JSON
	in, out      int64
}

func (s said) String() string {
	return fmt.Sprintf("%q %s %v in %d out %d", s.text, s.finish, s.calls, s.in, s.out)
}

// call writes a tool call in the one form that both dialects' calls have here.
func call(name, arguments string) string {
	var v any = map[string]any{} // a call without arguments
	name = strings.TrimSpace(name)
	if arguments != "" && json.Unmarshal([]byte(arguments), &v) != nil {
		return name + " " + arguments
	}
	b, _ := json.Marshal(v)
	return name + " " + string(b)
}

// finishes are the reasons of OpenAI as Anthropic has them.
var finishes = map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal", "function_call": "tool_use"}

// openaiSays reads an answer with OpenAI's SDK.
func openaiSays(t *testing.T, s *served, model string, stream bool) (said, error) {
	t.Helper()
	c := openai.NewClient(option.WithBaseURL(s.API+"/v1"), option.WithAPIKey(s.clientKey()), option.WithMaxRetries(0))
	p := openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the weather?")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_weather",
			Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}})}}
	var answer *openai.ChatCompletion
	if stream {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
		var acc openai.ChatCompletionAccumulator
		st := c.Chat.Completions.NewStreaming(context.Background(), p)
		for st.Next() {
			if !acc.AddChunk(st.Current()) {
				return said{}, fmt.Errorf("the SDK cannot add the chunk %s", st.Current().RawJSON())
			}
		}
		if st.Err() != nil {
			return said{}, st.Err()
		}
		answer = &acc.ChatCompletion
	} else {
		var err error
		if answer, err = c.Chat.Completions.New(context.Background(), p); err != nil {
			return said{}, err
		}
	}
	if len(answer.Choices) == 0 {
		return said{}, fmt.Errorf("no choice in %s", answer.RawJSON())
	}
	m := answer.Choices[0].Message
	r := said{text: m.Content + m.Refusal, finish: finishes[answer.Choices[0].FinishReason], in: answer.Usage.PromptTokens, out: answer.Usage.CompletionTokens}
	for _, tc := range m.ToolCalls {
		if tc.Function.Name == "" {
			continue // the SDK fills gaps in the services' own numbering
		}
		r.calls = append(r.calls, call(tc.Function.Name, tc.Function.Arguments))
	}
	return r, nil
}

// claudeSays reads an answer with Anthropic's SDK.
func claudeSays(t *testing.T, s *served, model string, stream bool) (said, error) {
	t.Helper()
	c := anthropic.NewClient(anthropicoption.WithBaseURL(s.API), anthropicoption.WithAPIKey(s.clientKey()), anthropicoption.WithMaxRetries(0))
	p := anthropic.MessageNewParams{Model: anthropic.Model(model), MaxTokens: 1000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is the weather?"))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "get_weather",
			InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}}}}}}
	var m anthropic.Message
	if stream {
		st := c.Messages.NewStreaming(context.Background(), p)
		for st.Next() {
			if err := m.Accumulate(st.Current()); err != nil {
				t.Errorf("the SDK cannot add an event: %v", err)
			}
		}
		if st.Err() != nil {
			return said{}, st.Err()
		}
	} else {
		got, err := c.Messages.New(context.Background(), p)
		if err != nil {
			return said{}, err
		}
		m = *got
	}
	u := m.Usage
	r := said{finish: string(m.StopReason), in: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, out: u.OutputTokens}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			r.text += b.Text
		case "tool_use":
			r.calls = append(r.calls, call(b.Name, string(b.Input)))
		}
	}
	return r, nil
}

// TestSDKsReadRecordedAnswers reads recordings of each dialect with the SDK of both: what each SDK ends with must be the same whether the
// answer passed or was translated.
func TestSDKsReadRecordedAnswers(t *testing.T) {
	t.Parallel()
	var body, kind string
	up := newUpstream(t, func(w http.ResponseWriter, r *http.Request) { says(kind, body)(w, r) })
	s := serveText(t, twoProviders(up.URL))
	readers := map[string]func(*testing.T, *served, string, bool) (said, error){"openai-chat": openaiSays, "anthropic": claudeSays}
	models := map[string]string{"openai-chat": "to-openai", "anthropic": "to-claude"}
	for native := range readers {
		for _, stream := range []bool{false, true} {
			suffix, n := ".response.json", 0
			kind = "application/json"
			if stream {
				suffix, kind = ".stream.txt", "text/event-stream"
			}
			for name, recorded := range recordings(t, native, suffix) {
				if strings.Contains(recorded, `"error":{`) || strings.Contains(recorded, `"error": {`) {
					continue // it would have the gateway leave the provider or its credential alone
				}
				body = recorded
				own, err := readers[native](t, s, models[native], stream)
				if err != nil || len(own.calls) == 0 && own.text == "" || strings.HasPrefix(own.text, "[") || foreign(recorded) {
					continue // an error, or what the SDK itself does not read: content as a list, chunks of several ids
				}
				for client, read := range readers {
					if client == native {
						continue
					}
					got, err := read(t, s, models[native], stream)
					if err != nil {
						t.Errorf("%s %s (stream %v) read by a client of %s: %v", native, name, stream, client, err)
						continue
					}
					if strings.Count(recorded, `"prompt_tokens"`) > 1 {
						own.in, own.out = got.in, got.out // the SDK adds up what a service says twice
					}
					if got.String() != own.String() && !(got.text == own.text && fmt.Sprint(got.calls) == fmt.Sprint(own.calls) && closeEnough(own, got)) {
						t.Errorf("%s %s (stream %v) read by a client of %s:\n got %v\nwant %v", native, name, stream, client, got, own)
					}
					n++
				}
			}
			if n == 0 {
				t.Errorf("%s, stream %v: nothing was compared", native, stream)
			}
			t.Logf("%s, stream %v: %d answers compared", native, stream, n)
		}
	}
}

// foreign says whether a recording holds what only its own dialect can say.
func foreign(recorded string) bool {
	for _, word := range []string{"server_tool_use", "mcp_tool_use", "pause_turn", "compaction", "web_search_tool_result"} {
		if strings.Contains(recorded, word) {
			return true
		}
	}
	return false
}

// closeEnough allows what the dialects have no common word for: Anthropic's stop_sequence is OpenAI's stop, a count that the
// provider did not give is zero on either side, and reasoning that some services count beside the output is put within it.
func closeEnough(want, got said) bool {
	finish := want.finish == got.finish || want.finish == "stop_sequence" && got.finish == "end_turn" || want.finish == "" || got.finish == "" ||
		len(got.calls) > 0 && got.finish == "tool_use" || want.finish == "model_context_window_exceeded" && got.finish == "max_tokens"
	return finish && (want.in == got.in || want.in == 0) && (want.out <= got.out)
}

func TestSDKsAgainstTheDemo(t *testing.T) {
	t.Parallel()
	s := serveText(t, "")
	for _, stream := range []bool{false, true} {
		for name, read := range map[string]func(*testing.T, *served, string, bool) (said, error){"openai": openaiSays, "anthropic": claudeSays} {
			got, err := read(t, s, "demo/echo", stream)
			if err != nil || got.text != "What is the weather?" || got.finish != "end_turn" {
				t.Errorf("%s, stream %v: %v, %v", name, stream, got, err)
			}
		}
	}
}
