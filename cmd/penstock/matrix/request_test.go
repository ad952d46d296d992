package matrix_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// base is the address of a provider that is never called.
var base = &url.URL{Scheme: "http", Host: "provider.example", Path: "/v1"}

// outcome is what becomes of what a request asks for.
type outcome struct {
	word  string   // native, mapped, approximated, dropped, lost, refused
	notes []string // why it is not as it was
}

// asked is a request of a client.
type asked struct {
	client dialect.Dialect
	text   string
	doc    jsonspan.Doc
	stream bool
}

// ask reads a request, which is made one for a stream where the dialect says so in the body.
func ask(t *testing.T, client dialect.Dialect, text string, stream bool) *asked {
	t.Helper()
	text = strings.TrimSpace(text)
	if stream && client.Name() != "gemini" {
		text = `{"stream":true,` + text[1:]
	}
	a := &asked{client: client, text: text, stream: stream}
	if err := a.doc.Parse([]byte(text), jsonspan.Limits{}); err != nil {
		t.Fatalf("request: %v", err)
	}
	return a
}

// pass gives the body of a request that is passed.
func (a *asked) pass(t *testing.T, s *service) string {
	t.Helper()
	d := &catalog.Deployment{Model: s.model, Native: s.native, MaxOutput: catalog.Unlimited,
		Provider: &catalog.Provider{ID: "target", Plugin: s.plugin, Manifest: &s.manifest, Base: base}}
	if err := d.Prepare([]string{a.client.Name()}); err != nil {
		t.Fatal(err)
	}
	w := d.Way(a.client.Name())
	if !w.Pass {
		t.Fatalf("%s is not passed to %s", a.client.Name(), s.native)
	}
	edits, _ := catalog.Splice(nil, &a.doc, w.Rules, catalog.SpliceOptions{Stream: a.stream})
	segs, _ := jsonspan.Splice(nil, a.doc.Body, edits)
	var body []byte
	for _, s := range segs {
		body = append(body, s...)
	}
	return string(body)
}

// encode gives the body of a translated request and the notes on it.
func (a *asked) encode(t *testing.T, s *service) (string, []sdk.Note, error) {
	t.Helper()
	q := new(sdk.Request)
	if err := a.client.Decode(&a.doc, q); err != nil {
		t.Fatalf("the client's request: %v", err)
	}
	q.Dialect, q.Stream = a.client.Name(), a.stream
	q.Provider, q.Native, q.Model, q.DefaultMax = "target", s.native, s.model, 4096
	plan, err := s.Encode(q)
	if err != nil {
		return "", nil, err
	}
	if err := jsonspan.Valid(plan.Body, jsonspan.Limits{}); err != nil {
		t.Fatalf("body: %v\n%s", err, plan.Body)
	}
	dialect.LocateNotes(a.client, &a.doc, plan.Dropped)
	return string(plan.Body), plan.Dropped, nil
}

// request makes one cell of requests, and fails where something is lost in silence.
func (a *asked) request(t *testing.T, s *service, in map[string]string) outcome {
	t.Helper()
	marks := strings.Split(strings.TrimSpace(in["marks"]), "\n")
	if a.client.Name() == s.native {
		body := a.pass(t, s)
		for _, m := range marks {
			if strings.Contains(a.text, m) && !strings.Contains(body, m) {
				t.Errorf("%q is not in the body that is passed:\n%s", m, body)
			}
		}
		return outcome{word: "native"}
	}
	body, notes, err := a.encode(t, s)
	var lacks *sdk.Inexpressible
	if errors.As(err, &lacks) {
		if _, ok := a.find(dialect.Locate(a.client, &a.doc, lacks.Path)); !ok {
			t.Errorf("refused for %q, which the request does not have", lacks.Path)
		}
		return outcome{"refused", []string{lacks.Error()}}
	}
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	a.complete(t, body, notes, marks)
	if !slices.ContainsFunc(notes, func(n sdk.Note) bool { return !n.Approximate }) {
		lines := in["upstream "+s.native]
		if lines == "" {
			t.Errorf("nothing is left out, and nothing is said of where it must stand in the body:\n%s", body)
		}
		a.witness(t, body, lines)
	}
	return judge(notes)
}

// complete sees that each mark of the request is in the body or in what a note is about.
func (a *asked) complete(t *testing.T, body string, notes []sdk.Note, marks []string) {
	t.Helper()
	var noted strings.Builder
	for _, n := range notes {
		about, ok := a.find(n.Path)
		if !ok {
			t.Errorf("a note is about %q, which the request does not have: %s", n.Path, n.Why)
		}
		noted.WriteString(about)
		if n.Why == "" {
			t.Errorf("a note on %q does not say why", n.Path)
		}
	}
	for _, m := range marks {
		if strings.Contains(a.text, m) && !strings.Contains(body, m) && !strings.Contains(noted.String(), m) {
			t.Errorf("%q is lost without a note; notes %v\n%s", m, notes, body)
		}
	}
}

// find gives what stands at a path of the client's request.
func (a *asked) find(path string) (string, bool) {
	at := 0
	for name := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '.' || c == '[' || c == ']' }) {
		next, ok := 0, false
		if n, err := strconv.Atoi(name); err == nil && a.doc.Kind(at) == jsonspan.Array {
			i := 0
			for item := range a.doc.Items(at) {
				if i == n {
					next, ok = item, true
				}
				i++
			}
		} else if a.doc.Kind(at) == jsonspan.Object {
			next, ok = a.doc.Member(at, name)
		}
		if !ok {
			return "", false
		}
		at = next
	}
	return string(a.doc.Raw(at)), path != ""
}

// witness looks where things must stand in the body, lines of a JSON Pointer and a value.
func (a *asked) witness(t *testing.T, body, lines string) {
	t.Helper()
	var got any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(lines) {
		pointer, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var want any
		if err := json.Unmarshal([]byte(value), &want); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if v := at(got, pointer); !reflect.DeepEqual(v, want) {
			t.Errorf("%s is %v, want %s in\n%s", pointer, v, value, body)
		}
	}
}

// at follows a JSON Pointer; nil where it leads nowhere.
func at(v any, pointer string) any {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// judge is the outcome that notes tell.
func judge(notes []sdk.Note) outcome {
	o := outcome{word: "mapped"}
	for _, n := range notes {
		word := "dropped"
		switch {
		case n.Strict:
			word = "lost"
		case n.Approximate:
			word = "approximated"
		}
		o = worse(o, outcome{word, []string{fmt.Sprintf("`%s`: %s", n.Path, n.Why)}})
	}
	return o
}

// worse is the worse word of two outcomes, with the notes of both.
func worse(a, b outcome) outcome {
	if a.word == "refused" { // there is no answer
		return a
	}
	words := []string{"native", "mapped", "approximated", "dropped", "lost", "refused"}
	notes := slices.Clip(a.notes)
	for _, n := range b.notes {
		if !slices.Contains(notes, n) {
			notes = append(notes, n)
		}
	}
	return outcome{words[max(slices.Index(words, a.word), slices.Index(words, b.word))], notes}
}
