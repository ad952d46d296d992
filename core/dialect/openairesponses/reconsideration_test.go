package openairesponses

import (
	"bytes"
	"testing"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func TestReconsider(t *testing.T) {
	f := func(code, body, want string) {
		t.Helper()
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		edits := Dialect{}.Reconsider(nil, &doc, &sdk.Failure{Code: code})
		segs, _ := jsonspan.Splice(nil, doc.Body, edits)
		if got := string(bytes.Join(segs, nil)); got != want || (len(edits) > 0) != (body != want) {
			t.Errorf("%s %s: %s with %d edits, want %s", code, body, got, len(edits), want)
		}
	}
	const sealed = "invalid_encrypted_content"
	f(sealed, `{"input":[{"role":"user"}, {"type":"reasoning","encrypted_content":"x"},{"type":"function_call"}]}`, `{"input":[{"role":"user"},{"type":"function_call"}]}`)
	f(sealed, `{"input":[{"type":"reasoning","summary":[{"text":"t"}],"encrypted_content":"x"}]}`, `{"input":[{"type":"reasoning","summary":[{"text":"t"}]}]}`)
	for _, same := range []string{`{"input":[{"type":"reasoning","summary":[]},{"role":"user"}]}`, `{"input":"x"}`, `{}`, `{"input":[{"type":"reasoning","encrypted_content":"x"}]}`} {
		f(sealed, same, same)
	}
	other := `{"input":[{"role":"user"},{"type":"reasoning","encrypted_content":"x"}]}`
	f("other", other, other)
}
