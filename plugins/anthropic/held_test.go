package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

// held makes a text whose bytes the gateway holds: the plugin sees no more than its facts.
func held(t *testing.T, content string) sdk.Text {
	t.Helper()
	d := new(sdk.Doc)
	if err := d.ParseSkeleton([]byte(`[""]`), 7, []sdk.Gap{{At: 2, Facts: sdk.FactsOf([]byte(content))}}); err != nil {
		t.Fatal(err)
	}
	for n := range d.Root().Items() {
		return n.Text()
	}
	return sdk.Text{}
}

// resolved writes a plan's body with what is held in its place.
func resolved(p *sdk.Plan, content string) string {
	var b strings.Builder
	for _, s := range p.Body.Segments() {
		if s.Handle == 0 {
			b.Write(p.Body.Literals()[s.From:s.To])
		} else {
			b.WriteString(content[s.From:s.To])
		}
	}
	return b.String()
}

func TestHeldPrefill(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct{ content, want string }{
		{long, long},
		{long + " ", long},
		{long + ` \n\t `, long},
		{long + `\\n`, long + `\\n`},
		{long + strings.Repeat(" ", 40), long + strings.Repeat(" ", 40)},             // more than is seen
		{long + strings.Repeat(`\`, 16) + "n", long + strings.Repeat(`\`, 16) + "n"}, // as far as is seen, all backslashes
		{strings.Repeat(" ", 100) + long + strings.Repeat(" ", 100), strings.Repeat(" ", 100) + long + strings.Repeat(" ", 100)},
	}
	for _, test := range tests {
		r := &sdk.Request{Model: "claude-sonnet-4-5", Messages: []sdk.Message{
			{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T("go")}}},
			{Role: sdk.Assistant, Path: "messages[1]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: held(t, test.content)}}},
		}}
		var plan sdk.Plan
		if err := New().Encode(r, &plan); err != nil {
			t.Fatal(err)
		}
		body := resolved(&plan, test.content)
		if !strings.HasSuffix(body, `{"type":"text","text":"`+test.want+`"}]}]}`) {
			t.Errorf("tail %.40q: body ends in %s", test.content[max(0, len(test.content)-20):], body[len(body)-80:])
		}
	}
}

func TestHeldIDsAndNames(t *testing.T) {
	id, other := strings.Repeat("call.", 60), strings.Repeat("call.", 61)
	if a, b := callID(held(t, id)), callID(held(t, other)); a == b || !legal(a) || a != callID(held(t, id)) {
		t.Errorf("ids %q and %q: want two that stay the same", a, b)
	}
	r := &sdk.Request{
		Model:    "claude-sonnet-4-5",
		Messages: []sdk.Message{{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.T("go")}}}},
		Tools:    []sdk.Tool{{Name: held(t, strings.Repeat("n", 300))}},
	}
	var bad *sdk.Invalid
	if err := New().Encode(r, new(sdk.Plan)); !errors.As(err, &bad) || bad.Path != "tools[0].name" {
		t.Errorf("a name that is too long: %v, want it refused by its path", err)
	}
}

func TestHeldMedia(t *testing.T) {
	data := strings.Repeat("AAAA", 100)
	media := func(kind sdk.PartKind, m sdk.Media) *sdk.Request {
		return &sdk.Request{Model: "claude-sonnet-4-5", Messages: []sdk.Message{{Role: sdk.User, Path: "messages[0]", Parts: []sdk.Part{{Kind: kind, Media: &m}}}}}
	}
	var plan sdk.Plan
	if err := New().Encode(media(sdk.PartImage, sdk.Media{Data: held(t, "/9j/"+data)}), &plan); err != nil {
		t.Fatal(err)
	}
	if body := resolved(&plan, "/9j/"+data); !strings.Contains(body, `"media_type":"image/jpeg","data":"/9j/`+data+`"`) {
		t.Errorf("body %s", body)
	}
	var lacks *sdk.Inexpressible
	if err := New().Encode(media(sdk.PartDocument, sdk.Media{MIME: "text/plain", Data: held(t, data)}), new(sdk.Plan)); !errors.As(err, &lacks) {
		t.Errorf("a large text in base64: %v, want it to be inexpressible", err)
	}
}
