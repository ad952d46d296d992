package golden_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// FuzzEncode feeds requests of both client dialects to each provider: each becomes a body that is JSON, or the error is
// one of the two that Encode may give.
func FuzzEncode(f *testing.F) {
	files, err := filepath.Glob("testdata/*/encode/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range parseArchive(string(text)).sections {
			if strings.HasPrefix(s.name, "request ") {
				f.Add([]byte(strings.TrimSpace(s.text)))
			}
		}
	}
	models := []string{"gpt-5", "o3", "claude-3-5-haiku", "claude-sonnet-4-5", "claude-opus-5", "mistral"}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, from := range []string{"openai-chat", "anthropic"} {
			r, err := decode(client(from), body)
			if err != nil {
				continue
			}
			for _, to := range []string{"openai", "openai-responses", "anthropic"} {
				r.Native = provider(to).native
				for _, r.Model = range models {
					var plan sdk.Plan
					if err := provider(to).Encode(r, &plan); err != nil {
						var lacks *sdk.Inexpressible
						var bad *sdk.Invalid
						if !errors.As(err, &lacks) && !errors.As(err, &bad) {
							t.Fatalf("to %s: %v", to, err)
						}
						continue
					}
					if err := jsonspan.Valid(plan.Body.Bytes(), jsonspan.Limits{Depth: 140}); err != nil {
						t.Fatalf("to %s: %v\n%s", to, err, plan.Body.Bytes())
					}
				}
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	text, err := os.ReadFile("testdata/openai/encode/full-conversation.txtar")
	if err != nil {
		b.Fatal(err)
	}
	var body string
	for _, s := range parseArchive(string(text)).sections {
		if s.name == "request anthropic" {
			body = s.text
		}
	}
	r, err := decode(client("anthropic"), []byte(strings.TrimSpace(body)))
	if err != nil {
		b.Fatal(err)
	}
	r.Model = "gpt-4.1"
	for _, to := range []string{"openai", "openai-responses", "anthropic"} {
		r.Native = provider(to).native
		b.Run(to, func(b *testing.B) {
			p := provider(to)
			var plan sdk.Plan
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				w := plan.Body
				w.Reset()
				plan = sdk.Plan{Body: w}
				if err := p.Encode(r, &plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
