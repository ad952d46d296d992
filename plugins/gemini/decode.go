package gemini

import (
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// Bounds of what a decoder remembers of one answer.
const (
	maxCandidates = 64
	maxCitations  = 1024
)

// NewDecoder makes the decoder of an answer, whole or streamed.
func (*provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder {
	if strings.HasSuffix(info.Native, "-embeddings") {
		return sdk.Whole(vectors)
	}
	return &decoder{stream: info.Stream}
}

type decoder struct {
	stream     bool
	began      bool
	over       bool   // Done or Failed has been said
	answer     string // the answer's id, which ids of calls are made of
	candidates []candidate
	calls      int // of all candidates
	cited      map[string]bool
	searches   searches
	counts     sdk.Counts
}

// candidate is one of the answers under way.
type candidate struct {
	calls  int
	reason string // the provider's word for the end; "" until it has come
}

// Decode reads one chunk of a stream, or a whole answer: both have the same form.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		if text := strings.TrimSpace(string(f.Text)); text != "" && text != "[DONE]" {
			d.fail(sdk.NotJSON(), out)
		}
		return nil
	}
	root := f.Doc.Root()
	if failure := failed(root); failure != nil {
		d.fail(failure, out)
		return nil
	}
	if err := d.chunk(root, out); err != nil {
		return err
	}
	if !d.stream {
		d.whole(out)
	}
	return nil
}

func (d *decoder) fail(f *sdk.Failure, out *sdk.Events) {
	d.over = true
	out.Add(sdk.Failed).Failure = *f
}

func (d *decoder) chunk(root sdk.Node, out *sdk.Events) error {
	if !d.began {
		d.began = true
		d.answer = strings.Clone(root.Get("responseId").Str())
		e := out.Add(sdk.Begin)
		e.ID, e.Name = root.Get("responseId").Text(), root.Get("modelVersion").Text()
	}
	d.searches.note(root)
	d.usage(root.Get("usageMetadata"), out)
	for c := range root.Get("candidates").Items() {
		if err := d.candidate(c, out); err != nil {
			return err
		}
	}
	// A prompt that is blocked has no candidates (https://ai.google.dev/api/generate-content#PromptFeedback).
	if block := root.At("promptFeedback", "blockReason").Str(); block != "" && len(d.candidates) == 0 {
		d.candidates = append(d.candidates, candidate{reason: "prompt blocked: " + block})
	}
	return nil
}

func (d *decoder) candidate(n sdk.Node, out *sdk.Events) error {
	i := int(n.Get("index").Int())
	if i < 0 || i >= maxCandidates {
		return fmt.Errorf("candidate %d: want 0 to %d", i, maxCandidates-1)
	}
	for len(d.candidates) <= i {
		d.candidates = append(d.candidates, candidate{})
	}
	for p := range n.At("content", "parts").Items() {
		if err := d.part(i, p, out); err != nil {
			return err
		}
	}
	d.citations(i, n, out)
	if reason := n.Get("finishReason").Str(); reason != "" {
		// Kept until the end: some models name it in every chunk, and content may follow.
		d.candidates[i].reason = strings.Clone(reason)
	}
	return nil
}

// whole ends an answer that is not streamed.
func (d *decoder) whole(out *sdk.Events) {
	if len(d.candidates) == 0 {
		d.fail(sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no candidates"), out)
		return
	}
	d.finish(out)
}

// End ends a stream, which has no mark of its own: it is complete when each candidate has said why it ended.
func (d *decoder) End(out *sdk.Events) error {
	if d.over || len(d.candidates) == 0 {
		return nil
	}
	for i := range d.candidates {
		if d.candidates[i].reason == "" {
			return nil
		}
	}
	d.finish(out)
	return nil
}

func (d *decoder) finish(out *sdk.Events) {
	for i := range d.candidates {
		c := &d.candidates[i]
		e := out.Add(sdk.Finish)
		e.Choice, e.Reason = i, reasonOf(c.reason)
		if native := strings.TrimPrefix(c.reason, "prompt blocked: "); native != "" {
			e.Native = sdk.T(native)
		}
		if e.Reason == sdk.ReasonStop && c.calls > 0 {
			e.Reason = sdk.ReasonTool
		}
	}
	d.over = true
	out.Add(sdk.Done)
}

// reasonOf gives the reason of a finishReason (https://ai.google.dev/api/generate-content#FinishReason; MODEL_ARMOR is
// Vertex AI's). A stop text is a STOP like any other.
func reasonOf(native string) sdk.Reason {
	switch native {
	case "MAX_TOKENS":
		return sdk.ReasonLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return sdk.ReasonFilter
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
		"MALFORMED_RESPONSE", "NO_IMAGE", "IMAGE_OTHER", "OTHER":
		return sdk.ReasonFault
	case "CONTINUATION":
		return sdk.ReasonPause
	}
	if strings.HasPrefix(native, "prompt blocked") {
		return sdk.ReasonFilter
	}
	return sdk.ReasonStop
}

// usage reads figures and tells what they come to: each chunk repeats running totals. Cached tokens are counted within
// the prompt, thoughts beside the candidates' tokens, and what tools put in beside the prompt
// (https://ai.google.dev/api/generate-content#UsageMetadata).
func (d *decoder) usage(u sdk.Node, out *sdk.Events) {
	prompt, tools := u.Get("promptTokenCount"), u.Get("toolUsePromptTokenCount")
	if prompt.Null() && u.Get("candidatesTokenCount").Null() {
		return
	}
	thoughts := u.Get("thoughtsTokenCount").Int()
	d.counts = sdk.Counts{
		Input:     prompt.Int() + tools.Int(),
		CacheRead: u.Get("cachedContentTokenCount").Int(),
		Output:    u.Get("candidatesTokenCount").Int() + thoughts,
		Reasoning: thoughts,
		Searches:  d.searches.charged(),
		Tier:      max(sdk.TierOf(u.Get("trafficType").Str()), sdk.TierOf(u.Get("serviceTier").Str())),
	}
	c := &d.counts
	audio, image := modalities(u.Get("promptTokensDetails"))
	toolAudio, toolImage := modalities(u.Get("toolUsePromptTokensDetails"))
	cachedAudio, cachedImage := modalities(u.Get("cacheTokensDetails")) // within the prompt's
	c.AudioInput, c.ImageInput = max(audio+toolAudio-cachedAudio, 0), max(image+toolImage-cachedImage, 0)
	c.AudioOutput, c.ImageOutput = modalities(u.Get("candidatesTokensDetails"))
	out.Add(sdk.UsageSeen).Usage = sdk.UsageWithin(d.counts)
}

// modalities reads how much of a count is sound, and how much images and video.
func modalities(details sdk.Node) (audio, image int64) {
	for one := range details.Items() {
		n := one.Get("tokenCount").Int()
		switch one.Get("modality").Str() {
		case "AUDIO":
			audio += n
		case "IMAGE", "VIDEO":
			image += n
		}
	}
	return audio, image
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
