package matrix_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestRecordedRequests translates recorded requests for every provider. A provider whose dialect clients speak too must
// find the same conversation in its body; every other body must be sound, and a refusal must name a member.
func TestRecordedRequests(t *testing.T) {
	all := services(t)
	for _, client := range clients {
		files := recordings(t, client.Name(), ".request.json")
		for _, u := range upstreams {
			if u.native == client.Name() {
				continue
			}
			refused, tried := 0, 0
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(filepath.Base(file)+"/"+u.native, func(t *testing.T) {
					a, q := conversation(t, client, text)
					tried++
					if !a.reaches(t, all[u.native], q) {
						refused++
					}
				})
			}
			if refused*2 > tried {
				t.Errorf("%s to %s: %d of %d requests are refused", client.Name(), u.native, refused, tried)
			}
		}
	}
}

// conversation reads a recorded request, and skips what is none of the dialect.
func conversation(t *testing.T, client dialect.Dialect, text []byte) (*asked, *sdk.Request) {
	t.Helper()
	a := &asked{client: client, text: string(text)}
	if err := a.doc.Parse(text, jsonspan.Limits{}); err != nil {
		t.Skip("not JSON")
	}
	q := new(sdk.Request)
	if err := client.Decode(&a.doc, q); err != nil {
		t.Skipf("no request of the dialect: %v", err)
	}
	if len(q.Messages) == 0 {
		t.Skip("no conversation")
	}
	return a, q
}

// reaches says whether the request can be said to a provider. Where it can, and nothing of it is left out, the provider
// must read the same conversation.
func (a *asked) reaches(t *testing.T, s *service, q *sdk.Request) bool {
	t.Helper()
	body, notes, err := a.encode(t, s)
	var lacks *sdk.Inexpressible
	var bad *sdk.Invalid
	switch {
	case errors.As(err, &lacks):
		if lacks.What == "" || lacks.Path == "" {
			t.Errorf("refused without a reason or a member: %v", err)
		}
		return false
	case errors.As(err, &bad):
		t.Logf("no provider could serve it: %v", err)
		return true
	case err != nil:
		t.Fatal(err)
	}
	for _, n := range notes {
		if _, ok := a.find(n.Path); !ok {
			t.Errorf("a note is about %q, which the request does not have: %s", n.Path, n.Why)
		}
	}
	for _, reader := range clients {
		if reader.Name() != s.native {
			continue
		}
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		got := new(sdk.Request)
		if err := reader.Decode(&doc, got); err != nil {
			t.Fatalf("the provider would refuse it: %v\n%s", err, clip(body))
		}
		if diff := cmp.Diff(lines(q), lines(got)); diff != "" && !partsLost(notes) {
			t.Errorf("(-asked +the provider reads), notes %v:\n%s", notes, diff)
		}
	}
	return true
}

// partsLost says whether notes tell of parts of the conversation, or of tools, that were left out.
func partsLost(notes []sdk.Note) bool {
	for _, n := range notes {
		for _, list := range []string{"messages[", "input", "contents[", "system", "tools["} {
			if strings.HasPrefix(n.Path, list) && !strings.HasSuffix(n.Path, ".is_error") && !strings.HasSuffix(n.Path, ".cache_control") {
				return true
			}
		}
	}
	return false
}

// lines is a conversation as lines: system texts first, then who says, asks and answers what, then the tools. White space
// and the cuts between texts of one speaker do not count; reasoning is what only its own provider reads.
func lines(q *sdk.Request) []string {
	var system, turns []string
	for _, m := range q.Messages {
		for i := range m.Parts {
			line := partLine(&m.Parts[i])
			switch {
			case line == "":
			case m.Role == sdk.System || m.Role == sdk.Developer:
				system = appendLine(system, "system: ", line)
			case m.Parts[i].Kind == sdk.PartText && m.Role == sdk.User:
				turns = appendLine(turns, "user: ", line)
			case m.Parts[i].Kind == sdk.PartText:
				turns = appendLine(turns, "model: ", line)
			default:
				turns = append(turns, line)
			}
		}
	}
	for _, tool := range q.Tools {
		if tool.Kind == sdk.FunctionTool && allowed(q, tool.Name) {
			turns = append(turns, "tool "+plain(tool.Name))
		}
	}
	return append(system, turns...)
}

// allowed says whether the model may call a tool. One that it must not call need not be told to a provider.
func allowed(q *sdk.Request, name sdk.Text) bool {
	return q.Choice.Mode != sdk.ChoiceAllowed || slices.ContainsFunc(q.Choice.Names, func(n sdk.Text) bool { return plain(n) == plain(name) })
}

// appendLine appends a text, to the line before where the same speaker goes on.
func appendLine(list []string, speaker, text string) []string {
	if n := len(list) - 1; n >= 0 && strings.HasPrefix(list[n], speaker) {
		list[n] += text
		return list
	}
	return append(list, speaker+text)
}

// partLine is what a part says; "" for what only its own provider reads.
func partLine(p *sdk.Part) string {
	switch p.Kind {
	case sdk.PartText, sdk.PartRefusal:
		return plain(p.Text)
	case sdk.PartCall:
		if p.Call.Custom {
			return "call " + plain(p.Call.Name) + " " + plain(p.Call.Input)
		}
		return "call " + plain(p.Call.Name) + " " + canonical(string(p.Call.Arguments.Raw()))
	case sdk.PartResult:
		line := "result "
		for i := range p.Result.Parts {
			line += partLine(&p.Result.Parts[i])
		}
		return line
	case sdk.PartImage, sdk.PartAudio, sdk.PartDocument:
		m := p.Media
		if m.MIME == "text/plain" && m.Data.Present() {
			text, err := base64.StdEncoding.DecodeString(plain(m.Data))
			if err == nil {
				return "media " + plain(sdk.T(string(text)))
			}
		}
		return "media " + plain(m.Data) + plain(m.URL) + plain(m.Body)
	}
	return ""
}

// plain is a text without white space.
func plain(t sdk.Text) string {
	s, _ := t.Decoded()
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
