// Package policies holds the router policies that come with the gateway, each a Starlark file with its tests beside it,
// and API.md, the page for those who write their own. A configuration names one as penstock/NAME.
//
// It only carries the files: core/policy compiles and runs them.
package policies

import (
	"embed"
	"io/fs"
	"strings"
)

// FS is the folder of the policies: NAME.star, NAME_test.star, and in lib what they share.
//
//go:embed *.star lib/*.star
var FS embed.FS

// API is the page for authors of policies, in Markdown.
//
//go:embed API.md
var API string

// Names lists the policies, sorted.
func Names() []string {
	files, err := fs.Glob(FS, "*.star")
	if err != nil {
		panic(err) // The pattern is a constant.
	}
	var names []string
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.star") {
			names = append(names, strings.TrimSuffix(f, ".star"))
		}
	}
	return names
}
