package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestFailures writes a failure of each kind.
func TestFailures(t *testing.T) {
	dialecttest.Golden(t, "testdata/failures", func(t *testing.T, _ func(string) []byte) []dialecttest.Section {
		var kinds, odd strings.Builder
		for k := sdk.BadRequest; k <= sdk.Internal; k++ {
			f := sdk.Fail(k, "")
			fmt.Fprintf(&kinds, "%s %d %s\n", k, Dialect{}.Status(f), Dialect{}.AppendError(nil, f, "req_1"))
		}
		for _, f := range dialecttest.Failures() {
			fmt.Fprintf(&odd, "%d %s\n%s", Dialect{}.Status(&f), Dialect{}.AppendError(nil, &f, "req_1"), Dialect{}.AppendStreamError(nil, &f, "req_1"))
		}
		return []dialecttest.Section{{Name: "kinds", Data: []byte(kinds.String())}, {Name: "odd", Data: []byte(odd.String())}}
	})
}

func TestOwnError(t *testing.T) {
	f := func(body string, want bool) {
		t.Helper()
		var doc jsonspan.Doc
		if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
			t.Fatal(err)
		}
		if got := (Dialect{}).OwnError(&doc); got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
	f(`{"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":"req_1"}`, true)
	f(`{"error":{"type":"invalid_request_error","message":"m"}}`, false) // a compatible service with OpenAI's envelope
	f(`{"type":"error","error":{"type":"invalid_request_error"}}`, false)
	f(`{"type":"error","error":"m"}`, false)
	f(`[]`, false)
}
