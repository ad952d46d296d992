package cohere_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/plugins/cohere"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestWire reads recorded answers, those in testdata and in the folder cohere of the one that PENSTOCK_WIRE names, and
// compares what they say with a plain reading by encoding/json.
func TestWire(t *testing.T) {
	folders := []string{"testdata/wire"}
	if more := os.Getenv("PENSTOCK_WIRE"); more != "" {
		folders = append(folders, filepath.Join(more, "cohere"))
	}
	for _, folder := range folders {
		for _, kind := range []string{".stream.txt", ".response.json"} {
			files, err := filepath.Glob(filepath.Join(folder, "*"+kind))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: no recordings: %v", folder, err)
			}
			for _, file := range files {
				t.Run(filepath.Base(file), func(t *testing.T) { wire(t, file, kind == ".stream.txt") })
			}
		}
	}
}

func wire(t *testing.T, file string, stream bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	frames := []providertest.Frame{{Data: string(text)}}
	if stream {
		frames = providertest.Split(string(text))
	}
	if strings.Contains(string(text), `"relevance_score"`) {
		t.Skip("a ranking")
	}
	_, got, err := providertest.Read(cohere.New().NewDecoder(sdk.AnswerInfo{Stream: stream}), frames, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain(frames), got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// message is one of an answer, or a piece of one; what is a list in a whole answer is an item in a stream.
type message struct {
	Plan    string          `json:"tool_plan"`
	Content json.RawMessage `json:"content"`
	Calls   json.RawMessage `json:"tool_calls"`
}

// plain reads an answer, whole or streamed.
func plain(frames []providertest.Frame) providertest.Said {
	var s providertest.Said
	for _, f := range frames {
		var m struct {
			Message      json.RawMessage
			FinishReason string `json:"finish_reason"`
			Delta        struct {
				Message      message
				FinishReason string `json:"finish_reason"`
			}
		}
		if json.Unmarshal([]byte(f.Data), &m) != nil {
			continue
		}
		var text string
		whole := m.Delta.Message
		if json.Unmarshal(m.Message, &text) == nil {
			s.Failed = true
			continue
		} else if len(m.Message) > 0 && json.Unmarshal(m.Message, &whole) != nil {
			continue
		}
		whole.into(&s)
		if reason := m.FinishReason + m.Delta.FinishReason; reason != "" {
			s.Reason, s.Done = reason, true
		}
	}
	return s
}

func (m *message) into(s *providertest.Said) {
	type block struct{ Text, Thinking string }
	type call struct {
		ID       string
		Function struct{ Name, Arguments string }
	}
	blocks, calls := []block{{}}, []call{{}}
	if json.Unmarshal(m.Content, &blocks[0]) != nil && json.Unmarshal(m.Content, &blocks) != nil {
		blocks = nil
	}
	if json.Unmarshal(m.Calls, &calls[0]) != nil && json.Unmarshal(m.Calls, &calls) != nil {
		calls = nil
	}
	s.Reasoning += m.Plan
	for _, b := range blocks {
		s.Text += b.Text
		s.Reasoning += b.Thinking
	}
	for _, c := range calls {
		if c.ID != "" {
			s.Calls = append(s.Calls, c.Function.Name+" ")
		}
		s.Calls[len(s.Calls)-1] += c.Function.Arguments
	}
}

// FuzzDecode feeds a decoder with whatever: it may refuse it, and says nothing after the end.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, one := range providertest.Split(string(text)) {
			f.Add(one.Data, true)
		}
		if strings.HasSuffix(file, ".json") {
			f.Add(string(text), false)
		}
	}
	f.Fuzz(func(t *testing.T, data string, stream bool) {
		d := cohere.New().NewDecoder(sdk.AnswerInfo{Stream: stream})
		lines, got, err := providertest.Read(d, []providertest.Frame{{Data: data}, {Data: `{"type":"tool-call-end","index":0}`}, {Data: data}}, true)
		if err == nil && got.Failed && got.Done {
			t.Errorf("failed and done: %q", lines)
		}
	})
}
