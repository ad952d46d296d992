package matrix_test

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// wires are the folders of recorded traffic by provider dialect: the selections that stand beside the plugins and the
// client dialects, and the sub-folders of the folder that PENSTOCK_WIRE names.
var wires = map[string]struct{ plugin, client, folder string }{
	"openai-chat":      {"golden/testdata/wire/openai-chat", "openaichat", "openai-chat"},
	"openai-responses": {"golden/testdata/wire/openai-responses", "openairesponses", "openai-responses"},
	"anthropic":        {"golden/testdata/wire/anthropic", "anthropic", "anthropic"},
	"gemini":           {"gemini/testdata/wire", "gemini", "gemini"},
	"bedrock-converse": {"bedrock/testdata/wire", "", "bedrock"},
	"cohere-chat":      {"cohere/testdata/wire", "", "cohere"},
}

// recordings gives the recorded bodies of a provider dialect whose names end so.
func recordings(t *testing.T, native string, suffixes ...string) []string {
	t.Helper()
	w := wires[native]
	folders := []string{filepath.Join("../../../plugins", w.plugin)}
	if w.client != "" {
		folders = append(folders, filepath.Join("../../../core/dialect", w.client, "testdata/wire"))
	}
	if more := os.Getenv("PENSTOCK_WIRE"); more != "" {
		folders = []string{filepath.Join(more, w.folder)}
	}
	var files []string
	for _, folder := range folders {
		for _, suffix := range suffixes {
			found, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
	}
	if len(files) == 0 {
		t.Errorf("no recordings %v of %s", suffixes, native)
	}
	return files
}

// TestRecordedAnswers decodes recorded answers and writes them for clients of every other dialect, who must read the same
// text, reasoning, calls, end and usage. Streams come in pieces of lengths that a seed of their name draws.
func TestRecordedAnswers(t *testing.T) {
	all := services(t)
	for _, u := range upstreams {
		if _, ok := wires[u.native]; !ok {
			continue
		}
		files := recordings(t, u.native, ".response.json", ".stream.txt", ".stream.bin")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := answer{body: string(text), stream: !strings.HasSuffix(file, ".json"), framing: all[u.native].dialect.Framing}
			if a.stream && text[0] == '[' {
				a.framing = "json-array" // Gemini without alt=sse
			}
			for _, client := range clients {
				if client.Name() != u.native {
					t.Run(filepath.Base(file)+"/"+client.Name(), func(t *testing.T) { recorded(t, all, all[u.native], client, a) })
				}
			}
		}
	}
}

// recorded holds what a client reads of a recorded answer against what the provider said.
func recorded(t *testing.T, all map[string]*service, s *service, client dialect.Dialect, a answer) {
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	draw := rand.New(rand.NewPCG(h.Sum64(), 1))
	longest := []int{3, 40, 4000}[draw.IntN(3)]
	whole, err := s.carry(a, nil, client, a.stream)
	if err != nil {
		t.Skipf("no answer of the dialect: %v", err)
	}
	cut, err := s.carry(a, func() int { return 1 + draw.IntN(longest) }, client, a.stream)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.said.String(), cut.said.String()); diff != "" {
		t.Errorf("in pieces (-at once +in pieces):\n%s", diff)
	}
	if whole.said.several {
		t.Skip("several answers, of which only some dialects can tell")
	}
	if whole.said.failure == nil && !whole.said.done && whole.said.finish == sdk.ReasonUnset {
		t.Skip("not a whole answer")
	}
	if whole.said.failure != nil && !a.stream {
		return // told by a status, of which the matrix has cells
	}
	got, err := read(all, client.Name(), whole.client, a.stream)
	if err != nil {
		t.Fatalf("%v in\n%s", err, whole.client)
	}
	if whole.said.failure != nil {
		if got.failure == nil || got.done {
			t.Errorf("%s is read as %s", &whole.said, &got)
		}
		return
	}
	want := narrow(client.Name(), whole.said)
	got = narrow(client.Name(), got)
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-the provider says +the client reads):\n%s\n%s", diff, clip(whole.client))
	}
}

// clip is the beginning of a long text.
func clip(s string) string { return s[:min(len(s), 4000)] }

// narrow leaves of an answer what a client's dialect has words for.
func narrow(client string, s said) said {
	s, _ = lossy(client, s)
	s.inputs = maps.Clone(s.inputs)
	for call, custom := range s.custom {
		if custom && (client == "anthropic" || client == "gemini") { // which know calls with arguments alone
			s.inputs[call] = `{"input":"` + string(sdk.T(s.inputs[call]).Raw()) + `"}`
		}
	}
	switch end := s.finish; {
	case end == sdk.ReasonRefusal: // all but Anthropic have one word for both, and Anthropic has only this
		s.finish = sdk.ReasonFilter
	case end == sdk.ReasonContext && client != "anthropic":
		s.finish = sdk.ReasonLength
	case end == sdk.ReasonPause && client == "openai-chat":
		s.finish = sdk.ReasonStop
	case end == sdk.ReasonTool && len(s.names) == 0: // the provider's own tool, whose calls are not told
		s.finish = sdk.ReasonStop
	case end == sdk.ReasonStop && len(s.names) > 0: // Gemini and Responses have no word of their own for it
		s.finish = sdk.ReasonTool
	}
	return s
}
