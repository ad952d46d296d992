package golden_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
)

// kind is a kind of request that users of gateways met failures with: what one of each client dialect becomes.
type kind struct {
	name    string // with the source of the failure, where there is one
	client  string
	targets string // each checked alike
	request string
	want    []string // "POINTER VALUE" on the body that the provider is sent; no value: nothing is there
	err     string   // in place of want
	noted   string   // a path that the notes name
}

// kinds runs a table of them.
func kinds(t *testing.T, table []kind) {
	t.Helper()
	for _, k := range table {
		for name := range strings.FieldsSeq(k.targets) {
			t.Run(k.name+"/"+k.client+" to "+name, func(t *testing.T) { k.run(t, name) })
		}
	}
}

func (k *kind) run(t *testing.T, name string) {
	clients := map[string]dialect.Dialect{"chat": openaichat.Dialect{}, "responses": openairesponses.Dialect{},
		"anthropic": anthropicclient.Dialect{}, "gemini": geminiclient.Dialect{}}
	var plan sdk.Plan
	r, err := decode(clients[k.client], []byte(k.request))
	if err == nil {
		var p sdk.Provider
		p, r.Native, r.Model = aim(t, name)
		r.Provider, r.DefaultMax = "target", 64000
		err = p.Encode(r, &plan)
	}
	if k.err != "" || err != nil {
		if got := wrong(err); got != k.err {
			t.Errorf("error %q, want %q", got, k.err)
		}
		return
	}
	var body any
	if err := json.Unmarshal(plan.Body.Bytes(), &body); err != nil {
		t.Fatalf("body: %v\n%s", err, plan.Body.Bytes())
	}
	for _, w := range k.want {
		pointer, want, _ := strings.Cut(w, " ")
		if got := at(body, pointer); got != want {
			t.Errorf("%s: %s, want %s\n%s", pointer, got, want, plan.Body.Bytes())
		}
	}
	if k.noted != "" && !strings.Contains(fmt.Sprint(plan.Dropped), "{"+k.noted+" ") {
		t.Errorf("notes %v, want one about %s", plan.Dropped, k.noted)
	}
}

// aim gives a provider, its dialect and a model of it.
func aim(t *testing.T, name string) (p sdk.Provider, native, model string) {
	t.Helper()
	switch name {
	case "openai":
		return openai.New(), "openai-chat", "gpt-4.1"
	case "openai-responses":
		return openai.New(), name, "gpt-4.1"
	case "groq":
		p := openai.New()
		if _, err := p.(sdk.Configurer).Configure("target", []byte(`{"preset":"groq"}`)); err != nil {
			t.Fatal(err)
		}
		return p, "openai-chat", "m"
	case "anthropic":
		return anthropic.New(), name, "claude-sonnet-4-5"
	case "gemini":
		return gemini.New(), name, "gemini-2.5-flash"
	case "bedrock":
		return bedrock.New(), "bedrock-converse", "anthropic.claude-sonnet-4-5-v1:0"
	case "cohere":
		return cohere.New(), "cohere-chat", "command-a"
	case "ollama":
		return ollama.New(), "ollama-chat", "llama3.2"
	}
	t.Fatalf("no target %q", name)
	return nil, "", ""
}

// wrong is an error with the path that it names.
func wrong(err error) string {
	var lacks *sdk.Inexpressible
	if errors.As(err, &lacks) {
		return lacks.Path + ": " + lacks.Error()
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// at gives the JSON text at a pointer; "" where there is nothing.
func at(v any, pointer string) string {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return ""
			}
			v = in[i]
		default:
			return ""
		}
	}
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
