package bedrock_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/plugins/bedrock"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestWire reads recorded answers, those in testdata and in the folder bedrock of the one that PENSTOCK_WIRE names, and
// compares what they say with a plain reading by encoding/json.
func TestWire(t *testing.T) {
	folders := []string{"testdata/wire"}
	if more := os.Getenv("PENSTOCK_WIRE"); more != "" {
		folders = append(folders, filepath.Join(more, "bedrock"))
	}
	for _, folder := range folders {
		for _, kind := range []string{".stream.bin", ".response.json"} {
			files, err := filepath.Glob(filepath.Join(folder, "*"+kind))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: no recordings: %v", folder, err)
			}
			for _, file := range files {
				t.Run(filepath.Base(file), func(t *testing.T) { wire(t, file, kind == ".stream.bin") })
			}
		}
	}
}

func wire(t *testing.T, file string, stream bool) {
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	frames := []providertest.Frame{{Data: string(body)}}
	if stream {
		frames = messages(t, body)
	}
	switch first := frames[0]; {
	case first.Event == "chunk", strings.Contains(first.Data, `"stop_reason"`), strings.Contains(first.Data, `"embeddings"`):
		t.Skip("not of Converse")
	}
	_, got, err := providertest.Read(bedrock.New().NewDecoder(sdk.AnswerInfo{Stream: stream}), frames, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain(frames), got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// messages cuts an AWS event stream.
func messages(t *testing.T, body []byte) []providertest.Frame {
	t.Helper()
	var list []providertest.Frame
	s := frame.NewEventStream(0)
	s.Feed(body)
	f, ok, err := s.Next()
	for ; ok; f, ok, err = s.Next() {
		list = append(list, providertest.Frame{Event: string(f.Event), Data: string(f.Data)})
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("%d messages: %v", len(list), err)
	}
	return list
}

type reasoning struct {
	Text          string
	ReasoningText struct{ Text string }
}

type use struct {
	Name, Type string
	Input      json.RawMessage
}

// plain reads an answer, whole or streamed.
func plain(frames []providertest.Frame) providertest.Said {
	var s providertest.Said
	own := false
	for _, f := range frames {
		var m struct {
			Message    string
			StopReason string
			Output     struct {
				Message struct {
					Content []struct {
						Text             string
						ToolUse          *use
						ReasoningContent reasoning
						CitationsContent struct{ Content []struct{ Text string } }
					}
				}
			}
			Start struct{ ToolUse *use }
			Delta struct {
				Text             string
				ToolUse          struct{ Input string }
				ReasoningContent reasoning
			}
		}
		if json.Unmarshal([]byte(f.Data), &m) != nil {
			continue
		}
		s.Failed = s.Failed || m.Message != ""
		for _, b := range m.Output.Message.Content {
			s.Text += b.Text
			s.Reasoning += b.ReasoningContent.ReasoningText.Text
			if b.ToolUse != nil && b.ToolUse.Type == "" {
				s.Calls = append(s.Calls, b.ToolUse.Name+" "+strings.TrimSuffix(string(b.ToolUse.Input), "{}"))
			}
			for _, c := range b.CitationsContent.Content {
				s.Text += c.Text
			}
		}
		if u := m.Start.ToolUse; u != nil {
			if own = u.Type != ""; !own {
				s.Calls = append(s.Calls, u.Name+" ")
			}
		}
		s.Text += m.Delta.Text
		s.Reasoning += m.Delta.ReasoningContent.Text
		if m.Delta.ToolUse.Input != "" && !own {
			s.Calls[len(s.Calls)-1] += m.Delta.ToolUse.Input
		}
		if m.StopReason != "" {
			s.Reason, s.Done = m.StopReason, true
		}
	}
	return s
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
			f.Add(one.Event, one.Data, true)
		}
		if strings.HasSuffix(file, ".json") {
			f.Add("", string(text), false)
		}
	}
	f.Fuzz(func(t *testing.T, event, data string, stream bool) {
		d := bedrock.New().NewDecoder(sdk.AnswerInfo{Stream: stream})
		frames := []providertest.Frame{{Event: event, Data: data}, {Event: "contentBlockStop", Data: `{"contentBlockIndex":0}`}, {Event: event, Data: data}}
		lines, got, err := providertest.Read(d, frames, true)
		if err == nil && got.Failed && got.Done {
			t.Errorf("failed and done: %q", lines)
		}
	})
}
