package gateway

import (
	"net/url"
	"strings"
	"testing"
)

// TestModelPages asks for parts of a list of five models in the ways of the three dialects.
func TestModelPages(t *testing.T) {
	f := func(form modelForm, query, want string) {
		t.Helper()
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		p, fail := form.page(strings.Fields("a b c d e"), q)
		got := strings.Join(p.names, " ")
		if p.more {
			got += " …"
		}
		if fail != nil {
			got = fail.Message
		}
		if got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	f(openaiForm, "limit=2&pageSize=2&after_id=a", "a b c d e")
	f(anthropicForm, "", "a b c d e")
	f(anthropicForm, "limit=2", "a b …")
	f(anthropicForm, "limit=5", "a b c d e")
	f(anthropicForm, "limit=1000", "a b c d e")
	f(anthropicForm, "limit=2&after_id=b", "c d …")
	f(anthropicForm, "limit=2&after_id=d", "e")
	f(anthropicForm, "after_id=e", "")
	f(anthropicForm, "limit=2&before_id=d", "b c …")
	f(anthropicForm, "limit=2&before_id=c", "a b")
	f(anthropicForm, "before_id=a", "")
	f(anthropicForm, "limit=0", `limit "0": want a number from 1 to 1000`)
	f(anthropicForm, "limit=1001", `limit "1001": want a number from 1 to 1000`)
	f(anthropicForm, "limit=x", `limit "x": want a number from 1 to 1000`)
	f(anthropicForm, "after_id=z", `after_id "z": want the name of a model`)
	f(anthropicForm, "before_id=z", `before_id "z": want the name of a model`)
	f(anthropicForm, "after_id=a&before_id=c", `before_id "c": want no after_id beside it`)
	f(geminiForm, "pageSize=2", "a b …")
	f(geminiForm, "pageSize=2&pageToken=b", "c d …")
	f(geminiForm, "pageSize=2&pageToken=d", "e")
	f(geminiForm, "pageSize=0", "a b c d e")
	f(geminiForm, "pageSize=5000", "a b c d e")
	f(geminiForm, "pageSize=-1", `pageSize "-1": want a number from 1 to 1000`)
	f(geminiForm, "pageToken=z", `pageToken "z": want the name of a model`)
}
