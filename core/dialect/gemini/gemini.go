// Package gemini is the dialect of Google's Gemini API (generateContent, streamGenerateContent, countTokens) as a client
// speaks it: it reads requests, writes answers and errors, and reads the usage and the end of native answers that pass
// through. [Embeddings] is its second dialect (embedContent, batchEmbedContents).
//
// The model, and whether the answer is a stream, stand in the path, and the framing of a stream in the query: the gateway
// reads them there. What a provider's service understands of a request is its plugin's matter.
package gemini

import (
	"bytes"
	"iter"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Dialect speaks generateContent and its kin. It holds no state.
type Dialect struct{}

var (
	_ dialect.Dialect = Dialect{}
	_ dialect.Placer  = Dialect{}
)

// Name is the dialect's name in configuration and manifests.
func (Dialect) Name() string { return "gemini" }

// KeepAlive is an empty line: not all of Google's SDKs skip comments, and within a JSON array it is white space.
func (Dialect) KeepAlive() []byte { return []byte("\r\n") }

// Status is the HTTP status of a failure.
func (Dialect) Status(f *sdk.Failure) int { return dialect.StatusOf(f, dialect.FormOf(f.Kind).Status) }

// reader finds members under both of their names: as Google's services do, the dialect takes functionCall and
// function_call (https://protobuf.dev/programming-guides/json).
type reader struct{ dialect.Reader }

// get gives a member that is there and not null by its name in camelCase; 0 otherwise.
func (r *reader) get(obj int, name string) int {
	if obj == 0 || r.Kind(obj) != jsonspan.Object {
		return 0
	}
	if v := r.Get(obj, name); v > 0 {
		return v
	}
	if other := snake(name); other != name {
		return r.Get(obj, other)
	}
	return 0
}

// needed gives a member that must be there.
func (r *reader) needed(obj int, name string) int {
	v := r.get(obj, name)
	if v == 0 {
		r.Missing(obj, name)
	}
	return v
}

// list says whether a value is a list, or an object that stands for a list of itself alone, as Google's servers take it and
// their examples have it.
func (r *reader) list(v int) bool { return v > 0 && (r.Kind(v) == jsonspan.Object || r.Array(v)) }

// each goes through what list has found.
func (r *reader) each(v int) iter.Seq[int] {
	if r.Kind(v) == jsonspan.Object {
		return func(yield func(int) bool) { yield(v) }
	}
	return r.Items(v)
}

// count is how many each goes through.
func (r *reader) count(v int) int {
	if r.Kind(v) == jsonspan.Object {
		return 1
	}
	return r.Len(v)
}

// named is a member's name in camelCase. It is a slice of the body where it is written so.
func (r *reader) named(key int) []byte { return camel(r.Name(key)) }

// snake writes a name in camelCase with underscores.
func snake(name string) string {
	out := make([]byte, 0, len(name)+4)
	for i := range len(name) {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			out = append(out, '_', c+('a'-'A'))
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// camel writes a name with underscores in camelCase. One in camelCase stays as it is.
func camel(name []byte) []byte {
	if bytes.IndexByte(name, '_') < 0 {
		return name
	}
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '_' && i > 0 && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' {
			i++
			out = append(out, name[i]-('a'-'A'))
		} else {
			out = append(out, name[i])
		}
	}
	return out
}

// Places gives where the dialect has a member of chat completions, by both of its names.
func (Dialect) Places(member string) []string {
	var both []string
	for _, place := range places(member) {
		both = append(both, place)
		if other := snake(place); other != place {
			both = append(both, other)
		}
	}
	return both
}

func places(member string) []string {
	const config = "generationConfig."
	switch member {
	case "messages":
		return []string{"contents"}
	case "tool_choice":
		return []string{"toolConfig.functionCallingConfig"}
	case "response_format":
		return []string{config + "responseSchema", config + "responseJsonSchema", config + "responseMimeType"}
	case "reasoning":
		return []string{config + "thinkingConfig"}
	case "max_completion_tokens":
		return []string{config + "maxOutputTokens"}
	case "stop":
		return []string{config + "stopSequences"}
	case "n":
		return []string{config + "candidateCount"}
	case "logprobs":
		return []string{config + "responseLogprobs"}
	case "top_logprobs":
		return []string{config + "logprobs"}
	case "metadata":
		return []string{"labels"}
	case "service_tier":
		return []string{"serviceTier"}
	case "temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty":
		return []string{config + string(camel([]byte(member)))}
	}
	return nil
}
