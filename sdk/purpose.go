package sdk

import "strings"

// Purpose is what the vectors of a request for embeddings are for, where the client says so.
type Purpose uint8

// The purposes that more than one provider knows.
const (
	PurposeUnset Purpose = iota
	PurposeDocument
	PurposeQuery
	PurposeClassification
	PurposeClustering
)

// purposes are the clients' words: of Gemini's taskType (https://ai.google.dev/gemini-api/docs/embeddings, supported task
// types), and of the input_type that Cohere (https://docs.cohere.com/reference/embed), Voyage and NVIDIA have. Questions are
// queries of one kind or another.
var purposes = map[string]Purpose{
	"RETRIEVAL_DOCUMENT": PurposeDocument, "search_document": PurposeDocument, "document": PurposeDocument, "passage": PurposeDocument,
	"RETRIEVAL_QUERY": PurposeQuery, "CODE_RETRIEVAL_QUERY": PurposeQuery, "QUESTION_ANSWERING": PurposeQuery,
	"FACT_VERIFICATION": PurposeQuery, "search_query": PurposeQuery, "query": PurposeQuery,
	"CLASSIFICATION": PurposeClassification, "classification": PurposeClassification,
	"CLUSTERING": PurposeClustering, "clustering": PurposeClustering,
}

// Purpose finds what the vectors are for among the members that the middle form does not know, and gives those that are
// left. A word that is none of a purpose's is among these; inputs with purposes of their own are more than one request can
// say, which is [*Inexpressible].
func (r *Request) Purpose() (p Purpose, left []Member, err error) {
	for _, m := range r.Unknown {
		name := m.Path[strings.LastIndexByte(m.Path, '.')+1:]
		word := strings.Trim(string(m.Value.Raw()), `"`)
		found := purposes[word]
		switch {
		case name != "taskType" && name != "input_type" || found == PurposeUnset:
			left = append(left, m)
		case p != PurposeUnset && found != p:
			return p, left, &Inexpressible{What: "inputs of several purposes", Path: m.Path}
		default:
			p = found
		}
	}
	return p, left, nil
}
