package gemini

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
	f(`{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[]}}`, true)
	f(`{"error":{"code":400,"message":"m"}}`, false)
	f(`{"error":{"code":"invalid","message":"m","status":"INVALID_ARGUMENT"}}`, false)
	f(`{"error":{"message":"m","type":"invalid_request_error"}}`, false)
	f(`[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, false)
}
