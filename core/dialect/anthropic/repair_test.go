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
	// A turn with calls that has lost its thinking: within a budget the model cannot think on.
	const lost = `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":""},{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}`
	const mended = `{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result"}]}`
	f(`{"thinking":{"type":"enabled","budget_tokens":2000},"messages":[`+lost+`]}`, `{"thinking":{"type":"disabled"},"messages":[`+mended+`]}`)
	f(`{"thinking":{"type":"adaptive"},"messages":[`+lost+`]}`, `{"thinking":{"type":"adaptive"},"messages":[`+mended+`]}`)
	f(`{"messages":[`+lost+`]}`, `{"messages":[`+mended+`]}`)
	f(`{"thinking":{"type":"enabled"},"messages":[`+lost+`,{"role":"assistant","content":"so"},{"role":"user","content":"on"}]}`,
		`{"thinking":{"type":"enabled"},"messages":[`+mended+`,{"role":"assistant","content":"so"},{"role":"user","content":"on"}]}`)
	f(`{"thinking":{"type":"enabled"},"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"y","signature":"s"},{"type":"thinking","thinking":"x"},{"type":"tool_use"}]}]}`,
		`{"thinking":{"type":"enabled"},"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"y","signature":"s"},{"type":"tool_use"}]}]}`)
	same(`{"messages":[{"content":[{"type":"redacted_thinking","data":"EmwKAhgB"},{"type":"redacted_thinking"},{"type":"text","text":"a"}]}]}`)
	same(`{"messages":[{"content":[ {"type":"thinking","thinking":"x","signature":"s"} , {"type":"text"}]}]}`)
	same(`{"messages":[{"content":[{"type":"thinking","thinking":"x"}]}]}`)
	f(`{"messages":[{"role":"user","content":"a"}, {"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}, {"role":"user","content":"b"}]}`,
		`{"messages":[{"role":"user","content":"a"}, {"role":"user","content":"b"}]}`)
	same(`{"thinking":{"type":"enabled"},"messages":[{"content":"thinking"},{"content":[]},3,{}]}`)
	same(`{"thinking":1,"messages":"x"}`)
	same(`{"a":"thinking"}`)
	// Searches that the gateway made of another provider's.
	f(`{"messages":[{"content":[{"type":"server_tool_use","id":"srvtoolu_penstock_06h2_0","name":"web_search"},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_penstock_06h2_0","content":[]},{"type":"text","text":"a"}]}]}`,
		`{"messages":[{"content":[{"type":"text","text":"a"}]}]}`)
	same(`{"messages":[{"content":[{"type":"server_tool_use","id":"srvtoolu_01WYG3"},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_01WYG3"},{"type":"server_tool_use","id":"srvtoolu_search_call_1"},{"type":"server_tool_use","id":3},{"type":"server_tool_use"}]}]}`)
}
