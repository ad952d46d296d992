package ollama_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect/providertest"
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
		for _, s := range providertest.ParseArchive(string(text)).Sections {
			for _, line := range lines(s.Text) {
				f.Add(line.Data, s.Name == "stream")
			}
		}
	}
	f.Fuzz(func(t *testing.T, data string, stream bool) {
		d := ollama.New().NewDecoder(sdk.AnswerInfo{Stream: stream})
		lines, got, err := providertest.Read(d, []providertest.Frame{{Data: data}, {Data: data}}, true)
		if err == nil && got.Failed && got.Done {
			t.Errorf("failed and done: %q", lines)
		}
	})
}
