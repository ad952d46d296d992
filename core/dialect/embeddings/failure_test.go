package embeddings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
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
