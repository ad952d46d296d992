package gemini

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// readUsage reads usageMetadata. Cached input is counted within the prompt; thoughts stand beside the candidates' tokens,
// and what tools of the service read stands beside the prompt (https://ai.google.dev/api/generate-content#UsageMetadata).
func readUsage(doc *jsonspan.Doc, u int) (sdk.Usage, bool) {
	prompt, ok := count(doc, u, "promptTokenCount")
	out, hasOut := count(doc, u, "candidatesTokenCount")
	thoughts, hasThoughts := count(doc, u, "thoughtsTokenCount")
	if !ok && !hasOut && !hasThoughts {
		return sdk.Usage{}, false
	}
	tools, _ := count(doc, u, "toolUsePromptTokenCount")
	cached, _ := count(doc, u, "cachedContentTokenCount")
	c := sdk.Counts{Input: prompt + tools, CacheRead: cached, Output: out + thoughts, Reasoning: thoughts}
	for _, of := range [...]struct {
		list         string
		sign         int64
		audio, image *int64
	}{
		{"promptTokensDetails", 1, &c.AudioInput, &c.ImageInput},
		{"toolUsePromptTokensDetails", 1, &c.AudioInput, &c.ImageInput},
		{"cacheTokensDetails", -1, &c.AudioInput, &c.ImageInput}, // the prompt's details include what is cached
		{"candidatesTokensDetails", 1, &c.AudioOutput, &c.ImageOutput},
	} {
		audio, image := modalities(doc, u, of.list)
		*of.audio += of.sign * audio
		*of.image += of.sign * image
	}
	c.AudioInput, c.ImageInput = max(c.AudioInput, 0), max(c.ImageInput, 0)
	for _, name := range [...]string{"trafficType", "serviceTier"} { // Vertex AI; the Gemini API
		if t, ok := member(doc, u, name); ok {
			c.Tier = max(c.Tier, sdk.TierOf(string(doc.Inner(t))))
		}
	}
	return sdk.UsageWithin(c), true
}

// modalities reads how much of a count is sound, and how much images and video.
func modalities(doc *jsonspan.Doc, u int, name string) (audio, image int64) {
	list, ok := member(doc, u, name)
	if !ok || doc.Kind(list) != jsonspan.Array {
		return 0, 0
	}
	for i := range doc.Items(list) {
		kind, ok := member(doc, i, "modality")
		if !ok {
			continue
		}
		n, _ := count(doc, i, "tokenCount")
		switch string(doc.Inner(kind)) {
		case "AUDIO":
			audio += n
		case "IMAGE", "VIDEO":
			image += n
		}
	}
	return audio, image
}

// count reads a number of tokens.
func count(doc *jsonspan.Doc, obj int, name string) (int64, bool) {
	i, ok := member(doc, obj, name)
	if !ok {
		return 0, false
	}
	return doc.Int(i)
}

// appendUsage writes usageMetadata.
func appendUsage(dst []byte, u sdk.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"promptTokenCount":`...), u.TotalInput(), 10)
	if u.CacheRead > 0 {
		dst = strconv.AppendInt(append(dst, `,"cachedContentTokenCount":`...), u.CacheRead, 10)
	}
	dst = strconv.AppendInt(append(dst, `,"candidatesTokenCount":`...), u.TotalOutput()-u.Reasoning, 10)
	if u.Reasoning > 0 {
		dst = strconv.AppendInt(append(dst, `,"thoughtsTokenCount":`...), u.Reasoning, 10)
	}
	dst = strconv.AppendInt(append(dst, `,"totalTokenCount":`...), u.TotalInput()+u.TotalOutput(), 10)
	return append(dst, '}')
}

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
