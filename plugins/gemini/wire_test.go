package gemini_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/plugins/gemini"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestWire reads recorded answers, those in testdata and in the folder gemini of the one that PENSTOCK_WIRE names, and
// compares what they say with a plain reading by encoding/json.
func TestWire(t *testing.T) {
	folders := []string{"testdata/wire"}
	if more := os.Getenv("PENSTOCK_WIRE"); more != "" {
		folders = append(folders, filepath.Join(more, "gemini"))
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
	switch {
	case stream && !strings.Contains(string(text), "data:"):
		t.Skip("a list of answers")
	case strings.Contains(string(text), "willContinue"), strings.Contains(string(text), `"totalTokens"`):
		t.Skip("nothing that was asked for")
	}
	_, got, err := providertest.Read(gemini.New().NewDecoder(sdk.AnswerInfo{Stream: stream}), frames, true)
	if err != nil {
		t.Fatal(err)
	}
	want := plain(frames)
	if !want.Done { // the recording was cut, or is an error
		want.Reason = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// plain reads the first candidate of an answer.
func plain(frames []providertest.Frame) providertest.Said {
	var s providertest.Said
	for _, f := range frames {
		text := strings.TrimSpace(f.Data)
		if strings.HasPrefix(text, "[") {
			text = strings.TrimSuffix(text[1:], "]")
		}
		var c struct {
			Error      any
			Candidates []struct {
				FinishReason any
				Content      struct {
					Parts []struct {
						Text         string
						Thought      bool
						FunctionCall *struct {
							Name string
							Args json.RawMessage
						}
					}
				}
			}
		}
		if json.Unmarshal([]byte(text), &c) != nil {
			continue
		}
		s.Failed = s.Failed || c.Error != nil
		for _, one := range c.Candidates {
			for _, p := range one.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					args := string(p.FunctionCall.Args)
					s.Calls = append(s.Calls, p.FunctionCall.Name+" "+strings.TrimSuffix(args, "{}"))
				case p.Thought:
					s.Reasoning += p.Text
				default:
					s.Text += p.Text
				}
			}
			if one.FinishReason != nil {
				s.Reason, _ = one.FinishReason.(string) // a number in some recordings
				s.Done = true
			}
		}
	}
	s.Done = s.Done && !s.Failed
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
			f.Add(one.Data, true)
		}
		if strings.HasSuffix(file, ".json") {
			f.Add(string(text), false)
		}
	}
	f.Fuzz(func(t *testing.T, data string, stream bool) {
		d := gemini.New().NewDecoder(sdk.AnswerInfo{Stream: stream})
		lines, got, err := providertest.Read(d, []providertest.Frame{{Data: data}, {Data: data}}, true)
		if err == nil && got.Failed && got.Done {
			t.Errorf("failed and done: %q", lines)
		}
	})
}
