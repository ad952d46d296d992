package gemini

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
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

// version takes note of the model that answers.
func (s *searches) version(doc *jsonspan.Doc) {
	if v, ok := member(doc, 0, "modelVersion"); ok {
		name := string(doc.Inner(v))
		s.once = strings.HasPrefix(name, "gemini-1") || strings.HasPrefix(name, "gemini-2")
	}
}

// candidate takes note of the queries of a candidate; chunks of a stream may repeat them.
func (s *searches) candidate(doc *jsonspan.Doc, c int) {
	grounding, ok := member(doc, c, "groundingMetadata")
	if !ok {
		return
	}
	list, ok := member(doc, grounding, "webSearchQueries")
	if !ok || doc.Kind(list) != jsonspan.Array {
		return
	}
	for q := range doc.Items(list) {
		query := strings.TrimSpace(string(doc.Inner(q)))
		if query == "" || len(s.queries) >= maxQueries {
			continue
		}
		if s.queries == nil {
			s.queries = map[string]bool{}
		}
		s.queries[query] = true
	}
}

// charged is how many searches are.
func (s *searches) charged() int64 {
	if s.once {
		return int64(min(len(s.queries), 1))
	}
	return int64(len(s.queries))
}
