// Package matrix_test holds every client dialect against every provider dialect that we ship: what a request asks for must
// reach the provider's body or be told in a note, and what an answer says must reach the client. The table that results is
// sdk/TRANSLATION.md; "go generate ./sdk" writes it, and a test sees that it is current.
//
// What each side's JSON looks like is said by files under testdata; how the translators write every member is tested where
// they are, in core/dialect and plugins.
package matrix_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	anthropicclient "github.com/penstock-gateway/penstock/core/dialect/anthropic"
	geminiclient "github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/openairesponses"
	"github.com/penstock-gateway/penstock/plugins/anthropic"
	"github.com/penstock-gateway/penstock/plugins/bedrock"
	"github.com/penstock-gateway/penstock/plugins/cohere"
	"github.com/penstock-gateway/penstock/plugins/gemini"
	"github.com/penstock-gateway/penstock/plugins/ollama"
	"github.com/penstock-gateway/penstock/plugins/openai"
	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/sdktest"
)

var update = flag.Bool("update", false, "write sdk/TRANSLATION.md")

// clients are the client dialects. Embeddings are apart: they are passed through or not served.
var clients = []dialect.Dialect{openaichat.Dialect{}, openairesponses.Dialect{}, anthropicclient.Dialect{}, geminiclient.Dialect{}}

// upstream is a provider dialect, with a model of the provider's that can do what the dialect can say.
type upstream struct {
	title, plugin, native, model string
	new                          func() sdk.Provider
}

var upstreams = []upstream{
	{"OpenAI chat", "openai", "openai-chat", "gpt-5.2", openai.New},
	{"OpenAI responses", "openai", "openai-responses", "gpt-5.2", openai.New},
	{"Anthropic", "anthropic", "anthropic", "claude-sonnet-4-5", anthropic.New},
	{"Gemini", "gemini", "gemini", "gemini-2.5-pro", gemini.New},
	{"Bedrock Converse", "bedrock", "bedrock-converse", "anthropic.claude-sonnet-4-5-20250929-v1:0", bedrock.New},
	{"Cohere", "cohere", "cohere-chat", "command-a-reasoning-08-2025", cohere.New},
	{"Ollama", "ollama", "ollama-chat", "gpt-oss:20b", ollama.New},
}

// service is a provider that is served as in a process of its own.
type service struct {
	upstream
	*sdktest.Harness
	manifest sdk.Manifest
	dialect  *sdk.Dialect
}

// services serves all upstreams by the name of their dialect until the test ends.
func services(t *testing.T) map[string]*service {
	t.Helper()
	all := map[string]*service{}
	for _, u := range upstreams {
		s := &service{upstream: u, Harness: sdktest.New(t, u.new()), manifest: u.new().Manifest()}
		for i := range s.manifest.Dialects {
			if d := &s.manifest.Dialects[i]; d.Name == u.native {
				s.dialect = d
			}
		}
		if s.dialect == nil {
			t.Fatalf("plugin %s: no dialect %q", u.plugin, u.native)
		}
		all[u.native] = s
	}
	return all
}

// TestAllDialectsAreHere sees that no dialect of a plugin is left out, but for embeddings.
func TestAllDialectsAreHere(t *testing.T) {
	all := services(t)
	for _, s := range all {
		for _, d := range s.manifest.Dialects {
			if all[d.Name] == nil && !strings.HasSuffix(d.Name, "-embeddings") {
				t.Errorf("plugin %s: dialect %q is in no cell", s.plugin, d.Name)
			}
		}
	}
}

// archive is a file in the txtar form: its sections by name.
func archive(t *testing.T, parts ...string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, parts...)...) + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	sections, name := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(rest, " --\n") {
			name = strings.TrimSuffix(rest, " --\n")
			continue
		}
		sections[name] += line
	}
	return sections
}
