package golden_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/embeddings"
	geminiclient "github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/plugins/bedrock"
	"github.com/penstock-gateway/penstock/plugins/cohere"
	"github.com/penstock-gateway/penstock/plugins/gemini"
	"github.com/penstock-gateway/penstock/plugins/ollama"
	"github.com/penstock-gateway/penstock/plugins/openai"
	"github.com/penstock-gateway/penstock/sdk"
)

// The requests and answers of embeddings, of two inputs and of one, in both dialects.
const (
	openaiTwo = `{"model":"m","input":["a","b\u00fc"],"dimensions":2,"encoding_format":"base64","user":"u"}`
	openaiOne = `{"model":"m","input":"a","dimensions":2}`
	geminiTwo = `{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]},"outputDimensionality":2,"taskType":"RETRIEVAL_QUERY"},{"content":{"parts":[{"text":"b"}]},"outputDimensionality":2}]}`
)

// embedder is a provider's way of embeddings.
type embedder struct {
	name     string
	provider sdk.Provider
	native   string
	model    string
	single   bool   // takes one input
	want     string // of the request openaiTwo, or openaiOne
	path     string // of the plan; "" the manifest's
	answer   string // whose vectors are [0.25,-1] and [1,2]
	tokens   bool   // the answer tells them: 7
}

var embedders = []embedder{
	{"openai", openai.New(), "openai-embeddings", "text-embedding-3-small", false,
		`{"model":"text-embedding-3-small","input":["a","b\u00fc"],"dimensions":2,"user":"u"}`, "",
		`{"object":"list","model":"x","data":[{"index":0,"embedding":[0.25,-1]},{"index":1,"embedding":[1,2]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, true},
	{"gemini", gemini.New(), "gemini-embeddings", "gemini-embedding-001", false,
		`{"requests":[{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"outputDimensionality":2},{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"b\u00fc"}]},"outputDimensionality":2}]}`,
		"/models/{model}:batchEmbedContents", `{"embeddings":[{"values":[0.25,-1]},{"values":[1,2]}]}`, false},
	{"vertex", gemini.New(), "vertex-embeddings", "text-embedding-005", false,
		`{"instances":[{"content":"a"},{"content":"b\u00fc"}],"parameters":{"outputDimensionality":2}}`, "",
		`{"predictions":[{"embeddings":{"values":[0.25,-1],"statistics":{"token_count":3}}},{"embeddings":{"values":[1,2],"statistics":{"token_count":4}}}]}`, true},
	{"cohere", cohere.New(), "cohere-embeddings", "embed-v4.0", false,
		`{"model":"embed-v4.0","input_type":"search_document","embedding_types":["float"],"texts":["a","b\u00fc"],"output_dimension":2}`, "",
		`{"id":"e","embeddings":{"float":[[0.25,-1],[1,2]]},"meta":{"billed_units":{"input_tokens":7}}}`, true},
	{"ollama", ollama.New(), "ollama-embeddings", "all-minilm", false,
		`{"model":"all-minilm","input":["a","b\u00fc"],"dimensions":2}`, "",
		`{"model":"all-minilm","embeddings":[[0.25,-1],[1,2]],"prompt_eval_count":7}`, true},
	{"cohere on bedrock", bedrock.New(), "bedrock-embeddings", "us.cohere.embed-v4:0", false,
		`{"input_type":"search_document","texts":["a","b\u00fc"],"output_dimension":2}`, "",
		`{"id":"e","embeddings":{"float":[[0.25,-1],[1,2]]},"response_type":"embeddings_by_type"}`, false},
	{"older cohere on bedrock", bedrock.New(), "bedrock-embeddings", "cohere.embed-english-v3", false,
		`{"input_type":"search_document","texts":["a","b\u00fc"],"output_dimension":2}`, "",
		`{"id":"e","embeddings":[[0.25,-1],[1,2]],"response_type":"embeddings_floats"}`, false},
	{"titan", bedrock.New(), "bedrock-embeddings", "amazon.titan-embed-text-v2:0", true,
		`{"inputText":"a","dimensions":2}`, "", `{"embedding":[0.25,-1],"inputTextTokenCount":7}`, true},
	{"nova", bedrock.New(), "bedrock-embeddings", "amazon.nova-2-multimodal-embeddings-v1:0", true,
		`{"taskType":"SINGLE_EMBEDDING","singleEmbeddingParams":{"embeddingPurpose":"GENERIC_INDEX","text":{"truncationMode":"NONE","value":"a"},"embeddingDimension":2}}`, "",
		`{"embeddings":[{"embeddingType":"TEXT","embedding":[0.25,-1]}]}`, false},
}

// encodeEmbeddings translates a client's request.
func encodeEmbeddings(t *testing.T, e *embedder, client dialect.Dialect, body string) (*sdk.Plan, error) {
	t.Helper()
	var doc jsonspan.Doc
	if err := doc.Parse([]byte(body), jsonspan.Limits{}); err != nil {
		t.Fatal(err)
	}
	var r sdk.Request
	if err := client.Decode(&doc, &r); err != nil {
		t.Fatal(err)
	}
	r.Model, r.Native = e.model, e.native
	plan := new(sdk.Plan)
	return plan, e.provider.Encode(&r, plan)
}

// decodeEmbeddings writes a provider's answer for a client.
func decodeEmbeddings(t *testing.T, e *embedder, client dialect.Dialect, o dialect.EncoderOptions) string {
	t.Helper()
	var doc sdk.Doc
	if err := doc.Parse([]byte(e.answer)); err != nil {
		t.Fatal(err)
	}
	var events sdk.Events
	dec := e.provider.NewDecoder(sdk.AnswerInfo{Native: e.native, Model: e.model})
	if err := errors.Join(dec.Decode(&sdk.Frame{Doc: &doc}, &events), dec.End(&events)); err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	enc := client.NewEncoder(o)
	var out []byte
	for i := range events.List {
		out = enc.Event(out, &events.List[i])
	}
	if last := events.List[len(events.List)-1]; last.Kind != sdk.Done {
		t.Errorf("%s: the answer is not complete", e.name)
	}
	return string(enc.End(out))
}

func TestEmbeddings(t *testing.T) {
	for i := range embedders {
		e := &embedders[i]
		request, second, secondText := openaiTwo, `,{"values":[1,2]}`, `,{"object":"embedding","index":1,"embedding":"AACAPwAAAEA="}`
		if e.single {
			request, second, secondText = openaiOne, "", ""
		}
		plan, err := encodeEmbeddings(t, e, embeddings.Dialect{}, request)
		if err != nil || string(plan.Body.Bytes()) != e.want || plan.Path != e.path {
			t.Errorf("%s: %v, path %q, %s\nwant path %q, %s", e.name, err, plan.Path, plan.Body.Bytes(), e.path, e.want)
		}
		usage, usageMetadata := `{"prompt_tokens":0,"total_tokens":0}`, ""
		if e.tokens {
			usage, usageMetadata = `{"prompt_tokens":7,"total_tokens":7}`, `,"usageMetadata":{"promptTokenCount":7`
		}
		want := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPgAAgL8="}` + secondText + `],"model":"m","usage":` + usage + `}`
		if got := decodeEmbeddings(t, e, embeddings.Dialect{}, dialect.EncoderOptions{Model: "m", Encoding: "base64", Created: time.Unix(0, 0)}); got != want {
			t.Errorf("%s: for OpenAI's clients %s\nwant %s", e.name, got, want)
		}
		want = `{"embeddings":[{"values":[0.25,-1]}` + second + `]` + usageMetadata
		if got := decodeEmbeddings(t, e, geminiclient.Embeddings{Batch: true}, dialect.EncoderOptions{}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: for Gemini's clients %s\nwant %s", e.name, got, want)
		}
	}
}

// TestEmbeddingsThatCannotBeAsked tells what is lost, and what cannot be said at all.
func TestEmbeddingsThatCannotBeAsked(t *testing.T) {
	var lacks *sdk.Inexpressible
	for i := range embedders {
		e := &embedders[i]
		plan, err := encodeEmbeddings(t, e, geminiclient.Embeddings{Batch: true}, geminiTwo)
		switch {
		case e.single && !errors.As(err, &lacks):
			t.Errorf("%s: two inputs: %v, want them to be inexpressible", e.name, err)
		case !e.single && queries[e.name] == "" && (err != nil || len(plan.Dropped) != 1 || !strings.HasSuffix(plan.Dropped[0].Path, "taskType")):
			t.Errorf("%s: %v, dropped %v; want the task's type dropped", e.name, err, plan.Dropped)
		}
		if _, err := encodeEmbeddings(t, e, embeddings.Dialect{}, `{"model":"m","input":[[1,2]]}`); !errors.As(err, &lacks) {
			t.Errorf("%s: tokens: %v, want them to be inexpressible", e.name, err)
		}
	}
}

// queries are the members that say that vectors are for queries; providers without one are not told.
var queries = map[string]string{
	"gemini": `"taskType":"RETRIEVAL_QUERY"`, "vertex": `"task_type":"RETRIEVAL_QUERY"`, "cohere": `"input_type":"search_query"`,
	"cohere on bedrock": `"input_type":"search_query"`, "older cohere on bedrock": `"input_type":"search_query"`,
	"nova": `"embeddingPurpose":"TEXT_RETRIEVAL"`,
}

// TestPurposes asks for vectors for queries in the words of several clients.
func TestPurposes(t *testing.T) {
	words := []string{"search_query", "query", "RETRIEVAL_QUERY", "CODE_RETRIEVAL_QUERY"}
	for i := range embedders {
		e := &embedders[i]
		want, told := queries[e.name]
		for _, word := range words {
			for body, client := range map[string]dialect.Dialect{
				`{"model":"m","input":"a","input_type":"` + word + `"}`:          embeddings.Dialect{},
				`{"content":{"parts":[{"text":"a"}]},"taskType":"` + word + `"}`: geminiclient.Embeddings{},
			} {
				plan, err := encodeEmbeddings(t, e, client, body)
				if err != nil || !strings.Contains(string(plan.Body.Bytes()), want) || (len(plan.Dropped) == 0) != told && e.name != "openai" {
					t.Errorf("%s, %s: %v, dropped %v, %s, want %s", e.name, body, err, plan.Dropped, plan.Body.Bytes(), want)
				}
			}
		}
		plan, err := encodeEmbeddings(t, e, embeddings.Dialect{}, `{"model":"m","input":"a","input_type":"image"}`)
		if err != nil || len(plan.Dropped) != 1 && e.name != "openai" {
			t.Errorf("%s: a purpose that nobody has: %v, dropped %v, want it dropped", e.name, err, plan.Dropped)
		}
	}
	mixed := `{"requests":[{"content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY"},{"content":{"parts":[{"text":"b"}]},"taskType":"CLUSTERING"}]}`
	var lacks *sdk.Inexpressible
	if _, err := encodeEmbeddings(t, &embedders[3], geminiclient.Embeddings{Batch: true}, mixed); !errors.As(err, &lacks) {
		t.Errorf("two purposes: %v, want them to be inexpressible", err)
	}
}
