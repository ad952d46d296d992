// Package golden_test holds the providers against the client dialects: requests as clients write them become the bodies
// that providers are sent, and answers as providers give them become events. The files under testdata hold input and
// want together; -update rewrites what is wanted.
package golden_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	anthropicclient "github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/plugins/anthropic"
	"github.com/penstock-gateway/penstock/plugins/openai"
	"github.com/penstock-gateway/penstock/sdk"
)

var update = flag.Bool("update", false, "rewrite what the golden files want")

// target is a provider and one of the dialects that it speaks.
type target struct {
	sdk.Provider
	native string
}

// provider makes what a folder of testdata is about.
func provider(name string) target {
	switch name {
	case "openai":
		return target{openai.New(), "openai-chat"}
	case "openai-responses":
		return target{openai.New(), name}
	}
	return target{anthropic.New(), "anthropic"}
}

// client gives a client dialect by name.
func client(name string) dialect.Dialect {
	if name == "openai-chat" {
		return openaichat.Dialect{}
	}
	return anthropicclient.Dialect{}
}

// golden runs f over the files of testdata/TARGET/kind. f gives the sections that it wants to see, or nil
// where it has done its own comparing.
func golden(t *testing.T, kind string, f func(t *testing.T, p target, in map[string]string) map[string]string) {
	files, err := filepath.Glob("testdata/*/" + kind + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		name := strings.Split(filepath.ToSlash(file), "/")[1]
		t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := parseArchive(string(text))
			in := make(map[string]string)
			for _, s := range a.sections {
				in[s.name] = s.text
			}
			got := f(t, provider(name), in)
			if got == nil {
				return
			}
			if *update {
				rewrite(t, file, a, got)
				return
			}
			for name := range in {
				if strings.HasPrefix(name, "want ") && got[name] == "" {
					t.Errorf("section %q is wanted, and there is none", name)
				}
			}
			for name, text := range got {
				if diff := cmp.Diff(strings.Split(in[name], "\n"), strings.Split(text, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// rewrite puts what was got in place of what was wanted.
func rewrite(t *testing.T, file string, a *archive, got map[string]string) {
	t.Helper()
	var kept []section
	for _, s := range a.sections {
		if !strings.HasPrefix(s.name, "want ") {
			kept = append(kept, s)
		}
	}
	for _, name := range []string{"want body", "want notes", "want error", "want events"} {
		if text := got[name]; text != "" {
			kept = append(kept, section{name, text})
		}
	}
	a.sections = kept
	if err := os.WriteFile(file, []byte(a.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// settings are the section "config" of an encoding's file.
type settings struct {
	Model  string          `json:"model"`
	Max    int             `json:"max"`
	Config json.RawMessage `json:"config"`
}

func TestEncode(t *testing.T) {
	golden(t, "encode", func(t *testing.T, p target, in map[string]string) map[string]string {
		var s settings
		if text := in["config"]; text != "" {
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
		}
		if c, ok := p.Provider.(sdk.Configurer); ok && s.Config != nil {
			if _, err := c.Configure("target", s.Config); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"openai-chat", "anthropic"} {
			if body, ok := in["request "+name]; ok {
				return encoded(t, p, client(name), body, s)
			}
		}
		t.Fatal("no request")
		return nil
	})
}

// encoded gives what a request becomes.
func encoded(t *testing.T, p target, d dialect.Dialect, body string, s settings) map[string]string {
	t.Helper()
	r, err := decode(d, []byte(strings.TrimSpace(body)))
	if err != nil {
		t.Fatalf("the client's request: %v", err)
	}
	r.Model, r.Provider, r.Native, r.DefaultMax = s.Model, "target", p.native, s.Max
	var first sdk.Plan
	if err := p.Encode(r, &first); err != nil {
		return map[string]string{"want error": errorText(t, err)}
	}
	same, err := decode(d, []byte(strings.TrimSpace(body)))
	if err != nil {
		t.Fatal(err)
	}
	same.Model, same.Provider, same.Native, same.DefaultMax = r.Model, r.Provider, r.Native, r.DefaultMax
	if !reflect.DeepEqual(r, same) {
		t.Error("Encode changed the request")
	}
	var plan sdk.Plan
	if err := p.Encode(r, &plan); err != nil || !bytes.Equal(first.Body.Bytes(), plan.Body.Bytes()) {
		t.Errorf("a second encoding differs: %v", err)
	}
	if err := jsonspan.Valid(plan.Body.Bytes(), jsonspan.Limits{}); err != nil {
		t.Fatalf("body: %v\n%s", err, plan.Body.Bytes())
	}
	got := map[string]string{"want body": lines(plan.Body.Bytes())}
	var notes strings.Builder
	for _, n := range plan.Dropped {
		kind := "dropped"
		switch {
		case n.Strict:
			kind = "lost"
		case n.Approximate:
			kind = "approximated"
		}
		fmt.Fprintf(&notes, "%s %s: %s\n", kind, n.Path, n.Why)
	}
	for _, n := range plan.Names {
		fmt.Fprintf(&notes, "renamed %s: %s\n", n.Client, n.Upstream)
	}
	if notes.Len() > 0 {
		got["want notes"] = notes.String()
	}
	return got
}

// lines writes a body with a line for each member, and for each item of a list in one.
func lines(body []byte) string {
	var doc jsonspan.Doc
	if doc.Parse(body, jsonspan.Limits{}) != nil {
		return string(body)
	}
	var b strings.Builder
	for k, v := range doc.Members(0) {
		fmt.Fprintf(&b, "%s: ", doc.Text(k))
		if doc.Kind(v) != jsonspan.Array {
			fmt.Fprintf(&b, "%s\n", doc.Raw(v))
			continue
		}
		b.WriteByte('\n')
		for item := range doc.Items(v) {
			fmt.Fprintf(&b, "  %s\n", doc.Raw(item))
		}
	}
	return b.String()
}

func decode(d dialect.Dialect, body []byte) (*sdk.Request, error) {
	doc := new(jsonspan.Doc)
	if err := doc.Parse(body, jsonspan.Limits{}); err != nil {
		return nil, err
	}
	r := new(sdk.Request)
	return r, d.Decode(doc, r)
}

// errorText writes the errors that Encode may give; any other is a fault.
func errorText(t *testing.T, err error) string {
	t.Helper()
	var lacks *sdk.Inexpressible
	var bad *sdk.Invalid
	switch {
	case errors.As(err, &lacks):
		return fmt.Sprintf("%s: %v\n", lacks.Path, lacks)
	case errors.As(err, &bad):
		return bad.Error() + "\n"
	}
	t.Fatalf("Encode: %v, want a request that cannot be expressed or is invalid", err)
	return ""
}

func TestDecode(t *testing.T) {
	golden(t, "decode", func(t *testing.T, p target, in map[string]string) map[string]string {
		stream, streamed := in["stream"]
		info := sdk.AnswerInfo{Provider: "target", Native: p.native, Model: "m", Stream: streamed}
		frames := []frame{{data: in["body"]}}
		if streamed {
			frames = split(stream)
		}
		events, err := read(p.NewDecoder(info), frames, in["cut"] == "")
		if err != nil {
			return map[string]string{"want error": err.Error() + "\n"}
		}
		var out strings.Builder
		for i := range events {
			fmt.Fprintln(&out, show(&events[i]))
		}
		return map[string]string{"want events": out.String()}
	})
}
