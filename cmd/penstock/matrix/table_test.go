package matrix_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
)

// feature is a row of the table.
type feature struct {
	title   string
	request string // the archive of requests
	answer  string // the archive of answers
}

var features = []feature{
	{"text", "text", "text"},
	{"system text", "system", "text"},
	{"tools", "tools", "call"},
	{"a call demanded", "tool-choice", "call"},
	{"parallel calls", "parallel-tools", "calls"},
	{"tool results", "tool-results", "text"},
	{"free-form tools", "free-tools", "text"}, // whose calls the gateway turns back: TestFreeForm in cmd/penstock
	{"their grammars", "free-tool-grammars", "text"},
	{"web search", "web-search", "text"},
	{"web search beside tools", "web-search-beside", "text"},
	{"web search in domains", "web-search-domains", "text"},
	{"images", "images", "text"},
	{"images by address", "image-addresses", "text"},
	{"documents", "documents", "text"},
	{"audio", "audio", "text"},
	{"reasoning", "reasoning", "reasoning"},
	{"earlier reasoning", "earlier-reasoning", "text"},
	{"structured output", "structured-output", "text"},
	{"stop texts", "stop", "stop"},
	{"sampling", "sampling", "text"},
	{"cache marks", "cache-marks", "text"},
	{"output limit", "text", "length"},
	{"usage", "text", "usage"},
	{"errors", "text", "errors"},
}

// cell is a place in the table: a feature between a client and an upstream.
type cell struct{ feature, client, upstream string }

// TestMatrix makes every cell, for whole answers and for streams, and holds sdk/TRANSLATION.md against what came out.
func TestMatrix(t *testing.T) {
	all := services(t)
	results := map[cell][2]outcome{}
	ran := 0
	for _, f := range features {
		requests, answers := archive(t, "requests", f.request), archive(t, "answers", f.answer)
		for _, client := range clients {
			text := requests[client.Name()]
			if text == "" {
				continue // the client has no words for it
			}
			for _, u := range upstreams {
				s, at := all[u.native], cell{f.title, client.Name(), u.native}
				for i, form := range []string{"whole", "stream"} {
					t.Run(f.title+"/"+client.Name()+"/"+u.native+"/"+form, func(t *testing.T) {
						ran++
						asked := ask(t, client, text, form == "stream").request(t, s, requests)
						pair := results[at]
						pair[i] = worse(asked, s.answers(t, all, client, answers, form == "stream"))
						results[at] = pair
					})
				}
			}
		}
	}
	if ran == 2*len(results) && !t.Failed() {
		compare(t, table(results))
	}
}

// answers makes the half of a cell that is the answer.
func (s *service) answers(t *testing.T, all map[string]*service, client dialect.Dialect, in map[string]string, stream bool) outcome {
	t.Helper()
	form := " whole"
	if stream {
		form = " stream"
	}
	a := answer{body: in[s.native+form], stream: stream, framing: s.dialect.Framing}
	if a.framing == "aws-event-stream" {
		a.framing = "" // the archives are texts
	}
	if a.body == "" {
		t.Fatalf("no answer %s%s", s.native, form)
	}
	says, errors := in[s.native+" says"]
	switch {
	case !errors && !stream:
		return s.refused(t, all, client, a.body)
	case !errors:
		return s.broken(t, all, client, a)
	case client.Name() == s.native:
		return s.observed(t, client, a, says)
	}
	return s.translated(t, all, client, a, says)
}

// compare holds the table against the file, or writes it there.
func compare(t *testing.T, text string) {
	t.Helper()
	const file = "../../../sdk/TRANSLATION.md"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), text); diff != "" {
		t.Errorf("sdk/TRANSLATION.md is not current, go generate ./sdk writes it (-file +is):\n%s", diff)
	}
}

const preface = `# What becomes of a request, and of its answer

Written by "go generate ./sdk" from the test in cmd/penstock/matrix, which makes every cell with the plugins that we ship;
not to be edited. A cell holds for whole answers and for streams, with a model that can do what its provider's API can say.

| word | meaning |
| --- | --- |
| native | the client's own bytes pass, and so does the answer |
| mapped | said in the provider's words, and the answer in the client's |
| approximated | said as something near; where it is of the request, named in ` + "`x-penstock-dropped`" + ` as ` + "`NAME;approximate`" + ` |
| dropped | left out, which does not change what is asked; named in ` + "`x-penstock-dropped`" + ` |
| lost | left out, which changes what is asked: with ` + "`translate: strict`" + ` the deployment is skipped, with ` + "`lenient`" + ` it is served and named |
| refused | the deployment is skipped: there is no way to say it |
| — | the client's dialect has no words for it |

## Tools that only some providers have

**Free-form tools** (OpenAI's ` + "`custom`" + `) take a text, which only OpenAI's own services know. Elsewhere a function of the
same name with one parameter, ` + "`input`" + `, stands for the tool, and earlier calls are written as ` + "`{\"input\": \"…\"}`" + `. The
client is given calls in free form with the text alone, in streams too. A grammar is added to what the parameter says of
itself: the model reads it and is not held to it, which is noted as approximate.

A plugin passes each tool through ` + "`Plan.AsFunction`" + `, and writes the arguments of all calls with ` + "`Writer.Arguments`" + ` or, where
they are a string of JSON, ` + "`Writer.ArgumentsText`" + `. It decodes calls as those of any function: turning them back is the
gateway's part.

**Web search** that the provider runs is ` + "`web_search`" + ` of OpenAI's responses, ` + "`web_search_options`" + ` of its chat
completions, which its search models alone take, ` + "`web_search_20250305`" + ` of Anthropic and ` + "`googleSearch`" + ` of Gemini,
which does not go with functions. The bound on searches, the domains and the user's place are kept where the provider
has them. What is left out is lost if it is the domains, or a search that is demanded or the only tool; a search offered
beside functions is dropped, and so are the bound and the place. The record of an earlier search is dropped: the text
that was made of it stays.

A plugin reads a search with ` + "`Request.WebSearch`" + `, writes what its provider has and notes the rest with
` + "`WebSearch.Leave`" + `. A tool that the provider has nothing like goes to ` + "`Plan.LeaveTool`" + `, and parts of earlier turns
that only their own dialect knows to ` + "`Plan.LeavePart`" + `.
`

// titles are the client dialects' names for readers.
var titles = map[string]string{"openai-chat": "OpenAI chat completions", "openai-responses": "OpenAI responses", "anthropic": "Anthropic messages", "gemini": "Gemini generateContent"}

// table writes the page.
func table(results map[cell][2]outcome) string {
	var b strings.Builder
	b.WriteString(preface)
	for _, client := range clients {
		n := notes{number: map[string]int{}}
		fmt.Fprintf(&b, "\n## Clients that speak %s (`%s`)\n\n|", titles[client.Name()], client.Name())
		for _, u := range upstreams {
			b.WriteString(" | " + u.title)
		}
		b.WriteString(" |\n| ---" + strings.Repeat(" | ---", len(upstreams)) + " |\n")
		for _, f := range features {
			b.WriteString("| " + f.title)
			for _, u := range upstreams {
				b.WriteString(" | " + n.cell(results[cell{f.title, client.Name(), u.native}]))
			}
			b.WriteString(" |\n")
		}
		b.WriteByte('\n')
		for i, text := range n.texts {
			fmt.Fprintf(&b, "%d. %s\n", i+1, text)
		}
	}
	return b.String()
}

// notes numbers the notes of a table.
type notes struct {
	texts  []string
	number map[string]int
}

// cell writes a cell: one outcome where the whole answer and the stream have the same.
func (n *notes) cell(pair [2]outcome) string {
	whole, stream := n.outcome(pair[0]), n.outcome(pair[1])
	if whole == stream {
		return whole
	}
	return whole + "; stream: " + stream
}

func (n *notes) outcome(o outcome) string {
	if o.word == "" {
		return "—"
	}
	text := o.word
	for i, note := range o.notes {
		if n.number[note] == 0 {
			n.texts = append(n.texts, note)
			n.number[note] = len(n.texts)
		}
		sep := ", "
		if i == 0 {
			sep = " "
		}
		text += fmt.Sprintf("%s%d", sep, n.number[note])
	}
	return text
}
