package gemini

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// searches are the queries with which Google's search was asked for an answer. Models up to 2.5 are charged for each answer
// that searched, later ones for each query, of which those that are empty or the same do not count
// (https://ai.google.dev/gemini-api/docs/google-search, pricing).
type searches struct {
	queries map[string]bool
	once    bool // the model is charged by the answer
}

// maxQueries bounds the queries that are told apart.
const maxQueries = 256

// note takes note of what a chunk says of searches; later ones may repeat it.
func (s *searches) note(root sdk.Node) {
	if v := root.Get("modelVersion").Str(); v != "" {
		s.once = strings.HasPrefix(v, "gemini-1") || strings.HasPrefix(v, "gemini-2")
	}
	for c := range root.Get("candidates").Items() {
		for q := range c.At("groundingMetadata", "webSearchQueries").Items() {
			query := strings.TrimSpace(q.Str())
			if query == "" || len(s.queries) >= maxQueries {
				continue
			}
			if s.queries == nil {
				s.queries = map[string]bool{}
			}
			s.queries[strings.Clone(query)] = true
		}
	}
}

// charged is how many searches are.
func (s *searches) charged() int64 {
	if s.once {
		return int64(min(len(s.queries), 1))
	}
	return int64(len(s.queries))
}
