// Package providertest holds a provider to golden files: what requests of the client dialects become, and what answers of
// the service say. The files stand with the provider that is tested, and so does what is particular to it.
//
// It is for tests alone, and runs a provider in the test's own process: how one is as a process is shown by package
// sdk/sdktest and by the conformance kit.
package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/schemas"
	"github.com/penstock-gateway/penstock/sdk"
)

// update rewrites golden files. It is a flag of the test binary, so it is the package's and not an argument.
var update = flag.Bool("update", false, "rewrite what the golden files want")

// Suite is a provider, and what its golden files are read with.
type Suite struct {
	New     func() sdk.Provider
	Clients map[string]dialect.Dialect // whose requests are translated, by name
	Split   func(stream string) []Frame
}

// Encode holds testdata/encode: what requests become.
func (s *Suite) Encode(t *testing.T) {
	golden(t, "encode", func(t *testing.T, in map[string]string) map[string]string {
		var to target
		if err := json.Unmarshal([]byte(in["config"]), &to); err != nil {
			t.Fatal(err)
		}
		p := s.New()
		if to.Config != nil {
			if _, err := p.(sdk.Configurer).Configure("target", to.Config); err != nil {
				t.Fatal(err)
			}
		}
		for name, d := range s.Clients {
			if body, ok := in["request "+name]; ok {
				return encoded(t, p, d, strings.TrimSpace(body), to)
			}
		}
		t.Fatal("no request")
		return nil
	})
}

// Decode holds testdata/decode: the events of answers and streams.
func (s *Suite) Decode(t *testing.T) {
	golden(t, "decode", func(t *testing.T, in map[string]string) map[string]string {
		stream, streamed := in["stream"]
		frames := []Frame{{Data: in["body"]}}
		if streamed {
			frames = s.Split(stream)
		}
		d := s.New().NewDecoder(sdk.AnswerInfo{Provider: "target", Model: "m", Stream: streamed})
		_, cut := in["cut"]
		lines, _, err := Read(d, frames, !cut)
		if err != nil {
			return map[string]string{"want error": err.Error() + "\n"}
		}
		return map[string]string{"want events": strings.Join(lines, "\n") + "\n"}
	})
}

// Manifest holds the manifest to its schema, and so the configuration's schema and patterns.
func (s *Suite) Manifest(t *testing.T) {
	text, err := json.Marshal(s.New().Manifest())
	if err != nil {
		t.Fatal(err)
	}
	schema, err := schemas.Compile("plugin.schema.json", schemas.Plugin)
	if err != nil {
		t.Fatal(err)
	}
	var manifest any
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(manifest); err != nil {
		t.Errorf("%#v", err)
	}
}

// FuzzEncode feeds requests of the client dialects to the provider: each becomes a body that is JSON, or the error is one
// of the two that Encode may give.
func (s *Suite) FuzzEncode(f *testing.F, models ...string) {
	files, err := filepath.Glob("testdata/encode/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range ParseArchive(string(text)).Sections {
			if strings.HasPrefix(part.Name, "request ") {
				f.Add(strings.TrimSpace(part.Text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := s.New()
		for _, d := range s.Clients {
			for _, model := range models {
				r, err := decode(d, body, p, target{Model: model, Max: 8192})
				if err != nil {
					continue
				}
				var plan sdk.Plan
				if err := p.Encode(r, &plan); err != nil {
					fault(t, err)
				} else if err := jsonspan.Valid(plan.Body.Bytes(), jsonspan.Limits{Depth: 140}); err != nil {
					t.Fatalf("%s: %v\n%s", model, err, plan.Body.Bytes())
				}
			}
		}
	})
}

// golden runs f over the files of testdata/kind of the package that is tested. f gets the sections and gives those that it wants to see.
func golden(t *testing.T, kind string, f func(t *testing.T, in map[string]string) map[string]string) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + kind + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of kind %s: %v", kind, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := ParseArchive(string(text))
			in, want := map[string]string{}, map[string]string{}
			var kept []Section
			for _, s := range a.Sections {
				if in[s.Name] = s.Text; strings.HasPrefix(s.Name, "want ") {
					want[s.Name] = s.Text
				} else {
					kept = append(kept, s)
				}
			}
			got := f(t, in)
			if !*update {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			for _, name := range []string{"want body", "want notes", "want error", "want events"} {
				if got[name] != "" {
					kept = append(kept, Section{name, got[name]})
				}
			}
			a.Sections = kept
			if err := os.WriteFile(file, []byte(a.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// target is the section "config" of a request's file.
type target struct {
	Model  string          `json:"model"`
	Max    int             `json:"max"`
	Config json.RawMessage `json:"config"`
}

// decode reads a client's request for a target.
func decode(d dialect.Dialect, body string, p sdk.Provider, to target) (*sdk.Request, error) {
	doc := new(jsonspan.Doc)
	if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
		return nil, err
	}
	r := new(sdk.Request)
	if err := d.Decode(doc, r); err != nil {
		return nil, err
	}
	r.Model, r.Provider, r.Native, r.DefaultMax = to.Model, "target", p.Manifest().Dialects[0].Name, to.Max
	return r, nil
}

// encoded gives what a request becomes.
func encoded(t *testing.T, p sdk.Provider, d dialect.Dialect, body string, to target) map[string]string {
	t.Helper()
	r, err := decode(d, body, p, to)
	if err != nil {
		t.Fatalf("the client's request: %v", err)
	}
	var plan, again sdk.Plan
	if err := p.Encode(r, &plan); err != nil {
		return map[string]string{"want error": fault(t, err)}
	}
	if err := p.Encode(r, &again); err != nil || !bytes.Equal(plan.Body.Bytes(), again.Body.Bytes()) {
		t.Errorf("a second encoding differs: %v", err)
	}
	var notes strings.Builder
	for _, n := range plan.Dropped {
		fmt.Fprintf(&notes, "%s: %s%s%s\n", n.Path, n.Why, map[bool]string{true: " (lost)"}[n.Strict], map[bool]string{true: " (approximated)"}[n.Approximate])
	}
	for _, n := range plan.Names {
		fmt.Fprintf(&notes, "%s: goes by %s\n", n.Client, n.Upstream)
	}
	got := map[string]string{"want body": pretty(t, plan.Body.Bytes())}
	if plan.Path != "" {
		fmt.Fprintf(&notes, "path: %s\n", plan.Path)
	}
	if notes.Len() > 0 {
		got["want notes"] = notes.String()
	}
	return got
}

// pretty indents JSON, and fails where it is none.
func pretty(t *testing.T, text []byte) string {
	t.Helper()
	if err := jsonspan.Valid(text, jsonspan.Limits{}); err != nil {
		t.Fatalf("body: %v\n%s", err, text)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", " "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// fault writes the errors that Encode may give; any other fails the test.
func fault(t *testing.T, err error) string {
	t.Helper()
	var lacks *sdk.Inexpressible
	var bad *sdk.Invalid
	switch {
	case errors.As(err, &lacks):
		return lacks.Path + ": " + lacks.Error() + "\n"
	case errors.As(err, &bad):
		return bad.Error() + "\n"
	}
	t.Fatalf("Encode: %v, want a request that cannot be expressed or is invalid", err)
	return ""
}
