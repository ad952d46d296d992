//go:build go1.27

package jsonspan

import (
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
)

// FuzzJSONText compares the verdict with that of jsontext, which is as strict: it too refuses repeated names and invalid UTF-8.
// It differs in lone surrogates: it refuses them unless it accepts invalid UTF-8 as well. Deep nesting is left out.
func FuzzJSONText(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e3,"\u00e9"],"b":{"a":null}}`))
	f.Add([]byte(`{"mod\u0065l":1,"model":2}`))
	f.Add([]byte(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"\u0061":9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Valid(text, Limits{Depth: 255})
		var se *SyntaxError
		if errors.As(err, &se) && strings.HasPrefix(se.Msg, "nested deeper") {
			return
		}
		if strict := jsontext.Value(text).IsValid(); strict && err != nil {
			t.Fatalf("Valid(%q) = %v, jsontext accepts it", text, err)
		}
		if err == nil && !jsontext.Value(text).IsValid(jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("Valid(%q) accepts it, jsontext does not", text)
		}
	})
}
