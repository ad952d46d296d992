package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// printed is what go test prints of four packages.
const printed = `ok  	github.com/penstock-gateway/penstock/core/a	0.1s
?   	github.com/penstock-gateway/penstock/core/b	[no test files]
a line of a test that did not fail
--- FAIL: TestGet (0.01s)
    --- FAIL: TestGet/by_name (0.00s)
        get_test.go:7: got 1
            want 2
        get_test.go:8: 3
        get_test.go:9: 4
        get_test.go:10: 5
        get_test.go:11: 6
        get_test.go:12: the seventh line
    get_test.go:20: of the whole
--- FAIL: TestPut (0.00s)
    put_test.go:1: no
FAIL
FAIL	github.com/penstock-gateway/penstock/core/c	0.123s
panic: test timed out after 1s
	running tests:
		TestHangs (1s)

goroutine 1 [running]:
FAIL	github.com/penstock-gateway/penstock/core/d	1.2s
--- FAIL: TestSlow (0.00s)
ok  	github.com/penstock-gateway/penstock/core/e	(cached)
FAIL	github.com/penstock-gateway/penstock/core/f [build failed]
flag provided but not defined: -x
exit status 2
FAIL	github.com/penstock-gateway/penstock/core/g	0.1s
FAIL
`

const told = `
penstock-check: what failed, in short:
FAIL core/c TestGet
    get_test.go:20: of the whole
FAIL core/c TestGet/by_name
    get_test.go:7: got 1
    want 2
    get_test.go:8: 3
    get_test.go:9: 4
    get_test.go:10: 5
    get_test.go:11: 6
FAIL core/c TestPut
    put_test.go:1: no
FAIL core/d panic: test timed out after 1s
    running tests:
    TestHangs (1s)
    goroutine 1 [running]:
FAIL core/f [build failed]
FAIL core/g
    flag provided but not defined: -x
    exit status 2
`

// TestFailures holds that what go test prints goes on as it is, and that what failed is told after it; and nothing where
// nothing did.
func TestFailures(t *testing.T) {
	for name, from := range map[string]io.Reader{"at once": strings.NewReader(printed), "byte by byte": iotest.OneByteReader(strings.NewReader(printed))} {
		var out strings.Builder
		f := &failures{w: &out}
		if _, err := io.Copy(f, from); err != nil {
			t.Fatal(err)
		}
		f.tell()
		if diff := cmp.Diff(printed+told, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var out strings.Builder
	f := &failures{w: &out}
	fmt.Fprint(f, "ok  \tgithub.com/penstock-gateway/penstock/core/a\t0.1s\n")
	if f.tell(); strings.Contains(out.String(), "in short") {
		t.Errorf("nothing has failed: %q", out.String())
	}
	out.Reset()
	for i := range 100 {
		fmt.Fprintf(f, "--- FAIL: Test%d (0.00s)\n    %s\nFAIL\tp\t0.1s\n", i, strings.Repeat("long", 1000))
	}
	all := out.Len()
	f.tell()
	if short := out.String()[all:]; !strings.HasSuffix(short, "\nFAIL 70 more, above\n") || len(short) > 20_000 {
		t.Errorf("of a hundred failures: %d bytes, %q at their end", len(short), short[max(0, len(short)-100):])
	}
}
