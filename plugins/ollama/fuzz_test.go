package ollama_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-gateway/penstock/plugins/ollama"
	"github.com/penstock-gateway/penstock/sdk"
)

// FuzzDecode feeds a decoder with whatever: it may refuse it, and says nothing after the end.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/decode/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range parseArchive(string(text)).sections {
			for _, line := range split(s.text) {
				f.Add(line.data, s.name == "stream")
			}
		}
	}
	f.Fuzz(func(t *testing.T, data string, stream bool) {
		d := ollama.New().NewDecoder(sdk.AnswerInfo{Stream: stream})
		lines, got, err := read(d, []frame{{data: data}, {data: data}}, true)
		if err == nil && got.Failed && got.Done {
			t.Errorf("failed and done: %q", lines)
		}
	})
}
