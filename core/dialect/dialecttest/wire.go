package dialecttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Folders are the folders of recordings to test with: those of the package, and with PENSTOCK_WIRE set to a folder of
// more of them, its sub-folder of the dialect.
func Folders(t *testing.T, own, dialect string) []string {
	t.Helper()
	folders := []string{own}
	if root := os.Getenv("PENSTOCK_WIRE"); root != "" {
		folders = append(folders, filepath.Join(root, dialect))
	}
	return folders
}

// Each calls f with each file of some folders whose name ends in a suffix.
func Each(t *testing.T, folders []string, suffix string, f func(t *testing.T, name string, body []byte)) {
	t.Helper()
	n := 0
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), suffix) {
				continue
			}
			n++
			body, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			t.Run(e.Name(), func(t *testing.T) { f(t, e.Name(), body) })
		}
	}
	if n == 0 {
		t.Errorf("no file ends in %s", suffix)
	}
}

// Observed is what an observer saw of a stream.
type Observed struct {
	Content, Done bool
	Failure       *sdk.Failure
	Out           []byte // what the client gets
	Usage         sdk.Usage
	Finish        sdk.Reason
}

// Observe feeds a stream to an observer, up to its end or its failure.
func Observe(t *testing.T, o dialect.Observer, stream []byte) Observed {
	t.Helper()
	var seen Observed
	s := frame.NewSSE(0)
	s.Feed(stream)
	for !seen.Done && seen.Failure == nil {
		f, ok, err := s.Next()
		if err == nil && !ok {
			f, ok, err = s.End()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got := o.Frame(&f)
		seen.Content, seen.Done, seen.Failure = seen.Content || got.Content, got.Done, got.Failure
		switch {
		case got.Failure != nil:
		case got.Cut:
			seen.Out = append(seen.Out, got.Out...)
		default:
			seen.Out = append(seen.Out, f.Raw...)
		}
	}
	seen.Usage, seen.Finish = o.Usage(), o.Finish()
	return seen
}

// Parse scans a request as the gateway does.
func Parse(t *testing.T, body []byte) *jsonspan.Doc {
	t.Helper()
	doc := new(jsonspan.Doc)
	if err := doc.Parse(body, jsonspan.Limits{}); err != nil {
		t.Fatal(err)
	}
	return doc
}
