package golden_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// recordings gives the folders of recorded traffic: the selection in testdata, and the folder that PENSTOCK_WIRE names.
func recordings(t *testing.T) []string {
	t.Helper()
	folders := []string{"testdata/wire"}
	if more := os.Getenv("PENSTOCK_WIRE"); more != "" {
		folders = append(folders, more)
	}
	return folders
}

// said is what an answer says, put together.
type said struct {
	Text      string
	Reasoning string
	Refusal   string
	Calls     []string // name, id and input
	Reason    string   // the provider's own word
	Failed    bool
}

// put adds an event.
func (s *said) put(e *sdk.Event) {
	text := func(t sdk.Text) string {
		d, _ := t.Decoded()
		return d
	}
	switch e.Kind {
	case sdk.TextDelta:
		s.Text += text(e.Text)
	case sdk.ThinkingDelta:
		s.Reasoning += text(e.Text)
	case sdk.RefusalDelta:
		s.Refusal += text(e.Text)
	case sdk.ToolBegin:
		s.Calls = append(s.Calls, text(e.Name)+" "+text(e.ID)+" ")
	case sdk.ToolInput:
		s.Calls[e.Call] += text(e.Text)
	case sdk.Finish:
		s.Reason = text(e.Native)
	case sdk.Failed:
		s.Failed = true
	}
}

// TestWire reads recorded answers and compares what they say with a reading by encoding/json.
func TestWire(t *testing.T) {
	for _, folder := range recordings(t) {
		for _, dialect := range []string{"openai-chat", "openai-responses", "anthropic"} {
			answers := 0
			for _, kind := range []string{".stream.txt", ".response.json"} {
				files, err := filepath.Glob(filepath.Join(folder, dialect, "*"+kind))
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range files {
					answers++
					t.Run(dialect+"/"+filepath.Base(file), func(t *testing.T) { wire(t, dialect, file) })
				}
			}
			if answers == 0 {
				t.Errorf("%s: no recordings of %s", folder, dialect)
			}
		}
	}
}

func wire(t *testing.T, dialect, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stream := strings.HasSuffix(file, ".stream.txt")
	frames := []frame{{data: string(text)}}
	if stream {
		frames = split(string(text))
	}
	p, want := provider("anthropic"), oracleAnthropic
	switch dialect {
	case "openai-chat":
		p, want = provider("openai"), oracleChat
	case "openai-responses":
		p, want = provider(dialect), oracleResponses
	}
	if strings.Contains(string(text), `"input_tokens"`) && !strings.Contains(string(text), `"content"`) && dialect == "anthropic" {
		t.Skip("a count of tokens")
	}
	events, err := read(p.NewDecoder(sdk.AnswerInfo{Native: p.native, Stream: stream}), frames, true)
	if err != nil {
		t.Fatal(err)
	}
	check(t, events)
	var got said
	for i := range events {
		got.put(&events[i])
	}
	if diff := cmp.Diff(want(frames), got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// check holds events against the order that sdk.Event promises.
func check(t *testing.T, events []sdk.Event) {
	t.Helper()
	begun, ended, finished, done := map[int]bool{}, map[int]bool{}, 0, false
	for i := range events {
		e := &events[i]
		switch {
		case done:
			t.Errorf("event %d after the end: %s", i, show(e))
		case e.Kind == sdk.ToolBegin:
			begun[e.Call] = true
		case e.Kind == sdk.ToolInput && (!begun[e.Call] || ended[e.Call]):
			t.Errorf("event %d outside its call: %s", i, show(e))
		case e.Kind == sdk.ToolEnd:
			ended[e.Call] = true
		case e.Kind == sdk.Finish:
			finished++
		case e.Kind == sdk.Done, e.Kind == sdk.Failed:
			done = true
			if e.Kind == sdk.Done && (finished != 1 || len(begun) != len(ended)) {
				t.Errorf("done with %d finishes, %d calls begun, %d ended", finished, len(begun), len(ended))
			}
		}
	}
	if !done {
		t.Error("the answer has no end")
	}
	if len(events) > 1 && events[0].Kind != sdk.Begin && events[0].Kind != sdk.Ping {
		t.Errorf("the first event is %s", show(&events[0]))
	}
}

// oracleChat reads chat completions, plainly and for one choice.
func oracleChat(frames []frame) said {
	var s said
	calls := map[string]int{}
	for _, f := range frames {
		var c struct {
			Error   any
			Detail  any
			Choices []struct {
				Delta, Message *chatMessage
				Finish         string `json:"finish_reason"`
			}
		}
		if json.Unmarshal([]byte(f.data), &c) != nil {
			continue
		}
		s.Failed = s.Failed || c.Error != nil || c.Detail != nil
		for _, choice := range c.Choices {
			if choice.Message != nil {
				choice.Delta = choice.Message
			}
			if s.Reason == "" {
				s.Reason = choice.Finish
			}
			if m := choice.Delta; m != nil {
				m.into(&s, calls)
			}
		}
	}
	return s
}

type chatMessage struct {
	Content          json.RawMessage
	Refusal          string
	Reasoning        string
	ReasoningContent string                  `json:"reasoning_content"`
	Details          []struct{ Text string } `json:"reasoning_details"`
	Calls            []struct {
		Index    int
		ID       string
		Function struct{ Name, Arguments string }
		Custom   struct{ Name, Input string }
	} `json:"tool_calls"`
}

func (m *chatMessage) into(s *said, calls map[string]int) {
	if m.ReasoningContent != "" {
		m.Reasoning = m.ReasoningContent
	}
	s.Reasoning += m.Reasoning
	for _, d := range m.Details {
		if m.Reasoning == "" {
			s.Reasoning += d.Text
		}
	}
	s.Refusal += m.Refusal
	var text string
	var parts []struct {
		Type, Text string
		Thinking   []struct{ Text string }
	}
	if json.Unmarshal(m.Content, &text) != nil && json.Unmarshal(m.Content, &parts) == nil {
		for _, p := range parts {
			text += p.Text
			for _, th := range p.Thinking {
				s.Reasoning += th.Text
			}
		}
	}
	s.Text += text
	for i, c := range m.Calls {
		key := fmt.Sprint(max(c.Index, i))
		n, ok := calls[key]
		ok = ok && (c.ID == "" || strings.Contains(s.Calls[n], " "+c.ID+" "))
		if !ok {
			n = len(s.Calls)
			calls[key] = n
			s.Calls = append(s.Calls, c.Function.Name+c.Custom.Name+" "+c.ID+" ")
		}
		s.Calls[n] += c.Function.Arguments + c.Custom.Input
	}
}

// oracleAnthropic reads messages.
func oracleAnthropic(frames []frame) said {
	var s said
	type block struct {
		Type, ID, Name, Text, Thinking string
		Input                          json.RawMessage
	}
	calls := map[int]int{}
	put := func(index int, b block) {
		s.Text += b.Text
		s.Reasoning += b.Thinking
		if b.Type == "tool_use" {
			calls[index] = len(s.Calls)
			input := string(b.Input)
			if input == "{}" {
				input = "" // of a call without arguments, or still to come
			}
			s.Calls = append(s.Calls, b.Name+" "+b.ID+" "+input)
		}
	}
	for _, f := range frames {
		var e struct {
			Type  string
			Index int
			Block block `json:"content_block"`
			Delta struct {
				Text, Thinking string
				Partial        string `json:"partial_json"`
				Reason         string `json:"stop_reason"`
			}
			Content []block
			Reason  string `json:"stop_reason"`
			Message struct {
				Content []block
				Reason  string `json:"stop_reason"`
			}
		}
		if json.Unmarshal([]byte(f.data), &e) != nil {
			continue
		}
		s.Failed = s.Failed || e.Type == "error"
		for i, b := range append(e.Content, e.Message.Content...) {
			put(i, b)
		}
		put(e.Index, e.Block)
		s.Text += e.Delta.Text
		s.Reasoning += e.Delta.Thinking
		if n, ok := calls[e.Index]; ok && e.Type == "content_block_delta" {
			s.Calls[n] += e.Delta.Partial
		}
		s.Reason += e.Reason + e.Delta.Reason + e.Message.Reason
		if e.Type == "content_block_stop" {
			delete(calls, e.Index)
		}
	}
	return s
}

// oracleResponses reads the response as it stands in the last event, which says again what the pieces said.
func oracleResponses(frames []frame) said {
	var s said
	for _, f := range frames {
		type response struct {
			Error, Message any
			Status         string
			Incomplete     struct{ Reason string } `json:"incomplete_details"`
			Output         []responseItem
		}
		var e struct {
			Type     string
			Response response
			response
		}
		if json.Unmarshal([]byte(f.data), &e) != nil {
			continue
		}
		r := e.Response
		switch e.Type {
		case "":
			r = e.response
		case "response.completed", "response.incomplete":
		case "error", "response.failed":
			s.Failed = true
			continue
		default:
			continue
		}
		if s.Failed = s.Failed || r.Error != nil; s.Failed {
			continue
		}
		if s.Reason = r.Status; r.Incomplete.Reason != "" {
			s.Reason = r.Incomplete.Reason
		}
		for _, item := range r.Output {
			item.into(&s)
		}
	}
	return s
}

type responseItem struct {
	Type, Name       string
	CallID           string `json:"call_id"`
	Arguments, Input any    // texts; of tools that the service runs, objects
	Content, Summary []struct{ Type, Text, Refusal string }
}

func (m *responseItem) into(s *said) {
	var texts []string
	for _, p := range append(m.Summary, m.Content...) {
		s.Refusal += p.Refusal
		if m.Type == "message" {
			s.Text += p.Text
		} else if len(m.Summary) == 0 || p.Type == "summary_text" {
			texts = append(texts, p.Text)
		}
	}
	switch m.Type {
	case "reasoning":
		s.Reasoning += strings.Join(texts, "\n\n")
	case "function_call", "custom_tool_call":
		s.Calls = append(s.Calls, m.Name+" "+m.CallID+" ")
		for _, v := range []any{m.Arguments, m.Input} {
			if text, ok := v.(string); ok {
				s.Calls[len(s.Calls)-1] += text
			}
		}
	}
}

// TestWireRequests translates recorded requests to the other providers: each becomes a body, or the error says why not.
func TestWireRequests(t *testing.T) {
	routes := []struct{ from, to string }{
		{"openai-chat", "anthropic"}, {"openai-chat", "openai-responses"}, {"anthropic", "openai"}, {"anthropic", "openai-responses"},
	}
	for _, folder := range recordings(t) {
		for _, route := range routes {
			from, to := route.from, route.to
			files, err := filepath.Glob(filepath.Join(folder, from, "*.request.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: no requests of %s: %v", folder, from, err)
			}
			bodies := 0
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				r, err := decode(client(from), text)
				if err != nil {
					t.Logf("%s: %v", filepath.Base(file), err)
					continue
				}
				r.Model = map[string]string{"openai": "gpt-5.2", "openai-responses": "gpt-5.2", "anthropic": "claude-sonnet-5"}[to]
				r.Native = provider(to).native
				var plan sdk.Plan
				if err := provider(to).Encode(r, &plan); err != nil {
					t.Logf("%s: %s", filepath.Base(file), errorText(t, err))
					continue
				}
				bodies++
				if err := jsonspan.Valid(plan.Body.Bytes(), jsonspan.Limits{}); err != nil {
					t.Errorf("%s: %v\n%s", filepath.Base(file), err, plan.Body.Bytes())
				}
			}
			if bodies*10 < len(files)*9 {
				t.Errorf("%s: %d of %d requests of %s became bodies, want nine in ten", folder, bodies, len(files), from)
			}
		}
	}
}
