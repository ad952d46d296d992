package ollama_test

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/plugins/ollama"
)

var suite = providertest.Suite{
	New:     ollama.New,
	Clients: map[string]dialect.Dialect{"openai-chat": openaichat.Dialect{}, "anthropic": anthropic.Dialect{}},
	Split:   lines,
}

// lines cuts a stream into its lines.
func lines(stream string) []providertest.Frame {
	var frames []providertest.Frame
	for line := range strings.Lines(stream) {
		frames = append(frames, providertest.Frame{Data: strings.TrimSpace(line)})
	}
	return frames
}

func TestEncode(t *testing.T) { suite.Encode(t) }

func TestDecode(t *testing.T) { suite.Decode(t) }

func TestManifestForm(t *testing.T) { suite.Manifest(t) }

func FuzzEncode(f *testing.F) {
	suite.FuzzEncode(f, "qwen3:8b", "gpt-oss:20b")
}
