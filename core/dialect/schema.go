package dialect

import (
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Parameters gives the JSON Schema of a tool's parameters. A tool takes an object, and providers refuse a schema that does
// not say so (https://github.com/lidge-jun/opencodex/issues/75), so the type that a client leaves out is added; a schema that
// says nothing, or names another, stays. It is absent for 0.
func (r *Reader) Parameters(v int) sdk.Value {
	if v == 0 || r.Kind(v) != jsonspan.Object || r.Len(v) == 0 {
		return r.Value(v)
	}
	for _, name := range [...]string{"type", "$ref"} {
		if _, ok := r.Member(v, name); ok {
			return r.Value(v)
		}
	}
	return sdk.RawValue(append([]byte(`{"type":"object",`), r.Raw(v)[1:]...))
}
