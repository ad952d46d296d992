package anthropic

import (
	"bytes"
	"testing"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

func TestRepairs(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		segs, _ := jsonspan.Splice(nil, doc.Body, Dialect{}.Repairs(nil, &doc))
		if got := string(bytes.Join(segs, nil)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
	same := func(body string) { t.Helper(); f(body, body) }
	f(`{"messages":[{"content":[{"type":"thinking","thinking":"x"}, {"type":"text","text":"a"} ]}]}`, `{"messages":[{"content":[{"type":"text","text":"a"}]}]}`)
	f(`{"messages":[{"content":[{"type":"thinking","thinking":"x","signature":""},{"type":"tool_use"},{"type":"thinking","thinking":"y","signature":"s"}]}]}`,
		`{"messages":[{"content":[{"type":"tool_use"},{"type":"thinking","thinking":"y","signature":"s"}]}]}`)
	f(`{"messages":[{"content":[{"type":"redacted_thinking","data":"gAAAAABo"},{"type":"text","text":"a"}]}]}`, `{"messages":[{"content":[{"type":"text","text":"a"}]}]}`)
	f(`{"messages":[{"content":[{"type":"thinking","thinking":"x","signature":"gAAAAABo"},{"type":"text","text":"a"}]}]}`, `{"messages":[{"content":[{"type":"text","text":"a"}]}]}`)
	same(`{"messages":[{"content":[{"type":"redacted_thinking","data":"EmwKAhgB"},{"type":"redacted_thinking"},{"type":"text","text":"a"}]}]}`)
	same(`{"messages":[{"content":[ {"type":"thinking","thinking":"x","signature":"s"} , {"type":"text"}]}]}`)
	same(`{"messages":[{"content":[{"type":"thinking","thinking":"x"}]}]}`)
	same(`{"thinking":{"type":"enabled"},"messages":[{"content":"thinking"},{"content":[]},3,{}]}`)
	same(`{"thinking":1,"messages":"x"}`)
	same(`{"a":"thinking"}`)
}
