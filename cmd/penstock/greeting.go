package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// providerKeys are the variables by which people's keys are usually named, and the provider that init writes for each.
var providerKeys = []struct{ env, id, plugin, preset string }{
	{"OPENAI_API_KEY", "openai", "openai", ""},
	{"ANTHROPIC_API_KEY", "anthropic", "anthropic", ""},
	{"GEMINI_API_KEY", "gemini", "gemini", ""},
	{"GROQ_API_KEY", "groq", "openai", "groq"},
	{"MISTRAL_API_KEY", "mistral", "openai", "mistral"},
	{"DEEPSEEK_API_KEY", "deepseek", "openai", "deepseek"},
	{"XAI_API_KEY", "xai", "openai", "xai"},
	{"OPENROUTER_API_KEY", "openrouter", "openai", "openrouter"},
}

// found lists the variables of providerKeys that are set.
func found() []string {
	var names []string
	for _, k := range providerKeys {
		if os.Getenv(k.env) != "" {
			names = append(names, k.env)
		}
	}
	return names
}

// greet says what is served and where.
func (p *process) greet(out io.Writer) {
	g := p.manager.Borrow()
	defer g.Release()
	fmt.Fprintf(out, "penstock %s · %s (generation %d)\n\n", version(), p.loader.source(), g.Number)
	fmt.Fprintf(out, "  API      %s/v1        (OpenAI, Anthropic and Gemini dialects)\n", p.ready.API)
	fmt.Fprintf(out, "  Admin    %s\n", p.ready.Admin)
	if p.key != "" {
		fmt.Fprintf(out, "  Key      %s  demo key, this run only\n", p.key)
		if names := found(); len(names) > 0 {
			fmt.Fprintf(out, "  Found    %s in your environment: `penstock init` will use them\n", strings.Join(names, ", "))
		}
		fmt.Fprintf(out, "\nTry:\n  curl -sD - %s/v1/chat/completions -H \"Authorization: Bearer %s\" \\\n"+
			"    -d '{\"model\":\"demo/flaky\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'\n", p.ready.API, p.key)
	}
	fmt.Fprintf(out, "\n%s ready in %d ms · plugin processes: %d · models: %d\n", time.Now().Format("15:04:05"),
		time.Since(p.started).Milliseconds(), len(p.host.List()), len(g.Catalog.Models))
}
