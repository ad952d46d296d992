package openai

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// Bounds of what a decoder remembers of one answer.
const (
	maxChoices = 128
	maxCalls   = 1024
	maxItems   = 4096 // of a response
)

// NewDecoder makes the decoder of an answer, whole or streamed.
func (p *provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder {
	switch info.Native {
	case responsesDialect:
		return &response{stream: info.Stream}
	case embeddingsDialect:
		return sdk.Whole(vectors)
	}
	return &decoder{info: info}
}

// decoder reads chat completions: chunks and whole bodies alike: a whole body is one chunk whose choices hold a message in place of a
// delta.
type decoder struct {
	info    sdk.AnswerInfo
	began   bool
	over    bool // Done or Failed has been said
	choices []*choice
}

// choice is one of the answers.
type choice struct {
	index    int
	calls    []*call
	finished bool   // the provider has said why it ended
	native   string // its word for it
	stop     string // the stop text that was met, where the service says so
	refused  bool
	deltas   bool // a delta has said something: messages only repeat it
	thought  bool // reasoning has come in a member of its own: details only repeat it
}

// Decode reads one frame of a stream, or a whole body.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		d.mark(bytes.TrimSpace(f.Text), out)
		return nil
	}
	root := f.Doc.Root()
	if failure := failed(root, f.Event); failure != nil {
		d.fail(failure, out)
		return nil
	}
	if err := d.chunk(root, out); err != nil {
		return err
	}
	if !d.info.Stream {
		d.finish(out)
	}
	return nil
}

// mark reads a frame that is no JSON: the end mark, or nothing.
func (d *decoder) mark(text []byte, out *sdk.Events) {
	switch {
	case string(text) == "[DONE]":
		d.finish(out)
	case len(text) > 0:
		d.fail(sdk.NotJSON(), out)
	}
}

// End takes the end of the body for the end of the answer where each choice has said why it ended: [DONE] is a habit,
// and some services have it not.
func (d *decoder) End(out *sdk.Events) error {
	if d.over || len(d.choices) == 0 {
		return nil
	}
	for _, c := range d.choices {
		if !c.finished {
			return nil
		}
	}
	d.finish(out)
	return nil
}

func (d *decoder) fail(f *sdk.Failure, out *sdk.Events) {
	d.over = true
	out.Add(sdk.Failed).Failure = *f
}

// chunk reads a chunk's choices and usage.
func (d *decoder) chunk(root sdk.Node, out *sdk.Events) error {
	d.begin(root, out)
	usage := root.Get("usage")
	if usage.Null() {
		usage = root.At("x_groq", "usage")
	}
	for item := range root.Get("choices").Items() {
		c, err := d.choice(item)
		if err != nil {
			return err
		}
		if err := c.said(item, d.info.Stream, out); err != nil {
			return err
		}
		if v := item.Get("logprobs").Value(); v.Present() {
			e := out.Add(sdk.Logprobs)
			e.Choice, e.Value = c.index, v
		}
		c.reason(item)
		if usage.Null() {
			usage = item.Get("usage") // Moonshot
		}
	}
	if !usage.Null() {
		counted := readUsage(usage)
		counted.Tier = sdk.TierOf(root.Get("service_tier").Str())
		out.Add(sdk.UsageSeen).Usage = counted
	}
	return nil
}

// begin tells the answer's id and model at the first chunk that has an id or a choice. Azure sends a chunk without
// either before the answer.
func (d *decoder) begin(root sdk.Node, out *sdk.Events) {
	id := root.Get("id").Text()
	if d.began || id.Empty() && root.Get("choices").Len() == 0 {
		return
	}
	d.began = true
	e := out.Add(sdk.Begin)
	e.ID, e.Name = id, root.Get("model").Text()
}

// choice gives the state of the choice that an item is of.
func (d *decoder) choice(item sdk.Node) (*choice, error) {
	index := int(item.Get("index").Int())
	for _, c := range d.choices {
		if c.index == index {
			return c, nil
		}
	}
	if len(d.choices) == maxChoices || index < 0 {
		return nil, fmt.Errorf("choice %d: want at most %d choices", index, maxChoices)
	}
	c := &choice{index: index}
	d.choices = append(d.choices, c)
	return c, nil
}

// reason remembers why a choice ended; it is told at the end, when no more of the choice can come.
func (c *choice) reason(item sdk.Node) {
	native := item.Get("finish_reason")
	if native.Null() || c.native != "" {
		return
	}
	c.finished, c.native = true, strings.Clone(native.Str())
	c.stop = strings.Clone(item.Get("stop_reason").Str()) // vLLM: the stop text
}

// finish closes calls and choices and says that the answer is complete.
func (d *decoder) finish(out *sdk.Events) {
	if len(d.choices) == 0 {
		d.fail(sdk.Fail(sdk.UpstreamEmpty, "the provider's answer has no choices"), out)
		return
	}
	d.over = true
	for _, c := range d.choices {
		for i, call := range c.calls {
			call.begin(c, i, out)
			e := out.Add(sdk.ToolEnd)
			e.Choice, e.Call = c.index, i
		}
		e := out.Add(sdk.Finish)
		e.Choice, e.Reason, e.Native = c.index, c.why(), sdk.T(c.native)
		if c.stop != "" {
			e.Reason, e.Stop = sdk.ReasonStopText, sdk.T(c.stop)
		}
	}
	out.Add(sdk.Done)
}

// why turns the provider's word into a reason. Words that nobody knows, and none, are a natural end.
func (c *choice) why() sdk.Reason {
	switch c.native {
	case "length", "max_tokens":
		return sdk.ReasonLength
	case "model_length": // Mistral
		return sdk.ReasonContext
	case "content_filter", "sensitive": // Z.ai
		return sdk.ReasonFilter
	case "error", "network_error", "insufficient_system_resource", "abort": // OpenRouter, Z.ai, DeepSeek, vLLM
		return sdk.ReasonFault
	case "tool_calls", "function_call":
		return sdk.ReasonTool
	}
	switch {
	case len(c.calls) > 0:
		return sdk.ReasonTool
	case c.refused:
		return sdk.ReasonRefusal
	}
	return sdk.ReasonStop
}

// readUsage reads usage as OpenAI counts it, and the spellings of other services: DeepSeek's prompt_cache_hit_tokens,
// Moonshot's and Hugging Face's cached_tokens, Perplexity's reasoning_tokens.
//
// xAI counts reasoning beside the completion, and Google's endpoint leaves thoughts out of it; both count them in the
// total, which tells.
func readUsage(u sdk.Node) sdk.Usage {
	prompt, completion := u.Get("prompt_tokens_details"), u.Get("completion_tokens_details")
	n := sdk.Counts{
		Input:      u.Get("prompt_tokens").Int(),
		CacheRead:  first(prompt.Get("cached_tokens"), u.Get("prompt_cache_hit_tokens"), u.Get("cached_tokens"), u.Get("num_cached_tokens"), u.Get("cache_read_input_tokens")),
		CacheWrite: first(prompt.Get("cache_write_tokens"), u.Get("cache_creation_input_tokens")),
		Output:     u.Get("completion_tokens").Int(),
		Reasoning:  first(completion.Get("reasoning_tokens"), u.Get("reasoning_tokens")),

		AudioInput:  prompt.Get("audio_tokens").Int(),
		ImageInput:  first(prompt.Get("image_tokens"), prompt.Get("video_tokens")),
		AudioOutput: completion.Get("audio_tokens").Int(),
		ImageOutput: completion.Get("image_tokens").Int(),
		Searches:    first(u.At("server_tool_use", "web_search_requests"), u.At("server_tool_use_details", "web_search_requests"), u.Get("num_search_queries")),
	}
	in, answer := !u.Get("prompt_tokens").Null(), !u.Get("completion_tokens").Null()
	if !in && !answer {
		return sdk.Usage{}
	}
	hidden := u.Get("total_tokens").Int() - max(n.Input, 0) - max(n.Output, 0)
	if hidden > 0 && (n.Reasoning == 0 || n.Reasoning == hidden) {
		n.Output += hidden
		n.Reasoning = hidden
	}
	usage := sdk.UsageWithin(n)
	usage.Known = in && answer // half of the figures are not a provider's last word
	return usage
}

// tellUsage reads a response's usage, which counts cached input within the input and reasoning within the output.
func tellUsage(r sdk.Node, out *sdk.Events) {
	u := r.Get("usage")
	if u.Null() {
		return
	}
	input := u.Get("input_tokens_details")
	usage := sdk.UsageWithin(sdk.Counts{
		Input:      u.Get("input_tokens").Int(),
		CacheRead:  input.Get("cached_tokens").Int(),
		CacheWrite: input.Get("cache_write_tokens").Int(),
		Output:     u.Get("output_tokens").Int(),
		Reasoning:  u.At("output_tokens_details", "reasoning_tokens").Int(),
		Searches:   searches(r.Get("output")),
		Tier:       sdk.TierOf(r.Get("service_tier").Str()),
	})
	usage.Free = programs(r.Get("output"))
	out.Add(sdk.UsageSeen).Usage = usage
}

// why gives the reason of the end and the provider's own word for it.
func (d *response) why(r sdk.Node) (sdk.Reason, sdk.Text) {
	status := r.Get("status")
	switch {
	case status.Is("incomplete"):
		native := r.At("incomplete_details", "reason")
		if native.Is("content_filter") {
			return sdk.ReasonFilter, native.Text()
		}
		return sdk.ReasonLength, native.Text()
	case status.Is("queued"), status.Is("in_progress"): // in the background
		return sdk.ReasonPause, status.Text()
	case d.calls > 0:
		return sdk.ReasonTool, status.Text()
	case d.refused:
		return sdk.ReasonRefusal, status.Text()
	}
	return sdk.ReasonStop, status.Text()
}

// searches counts the searches of the web in a response's output: each is charged
// (https://platform.openai.com/docs/pricing, built-in tools). Opening a page that was found is none.
func searches(output sdk.Node) (n int64) {
	for item := range output.Items() {
		if item.Get("type").Is("web_search_call") {
			if kind := item.At("action", "type"); !kind.Exists() || kind.Is("search") {
				n++
			}
		}
	}
	return n
}

// first gives the first count that is there and not 0.
func first(nodes ...sdk.Node) int64 {
	for _, n := range nodes {
		if v := n.Int(); v != 0 {
			return v
		}
	}
	return 0
}

// failed reads an error object in a stream, or under a status of success; nil where there is none.
func failed(root sdk.Node, event string) *sdk.Failure {
	for item := range root.Items() { // a list of errors: Google
		root = item
		break
	}
	e := root.Get("error")
	switch {
	case e.Len() > 0 || !e.Text().Empty():
	case root.Get("choices").Exists():
		return nil
	case event == "error" || root.Get("object").Is("error") || root.Get("detail").Exists() || root.Get("message").Exists():
		e = root
	default:
		return nil
	}
	f := &sdk.Failure{Kind: kindOf(root), Message: e.Str()}
	for _, name := range []string{"message", "detail"} {
		if f.Message == "" {
			f.Message = strings.Clone(e.Get(name).Str())
		}
	}
	if f.Message == "" {
		f.Message = "the provider answered with an error"
	}
	f.Type, f.Code, f.Param = word(e.Get("type")), word(e.Get("code")), word(e.Get("param"))
	if f.Type == "error" { // the event's own
		f.Type = ""
	}
	return f
}

// kindOf looks an error body up, which may also be the error object alone.
func kindOf(root sdk.Node) sdk.Kind {
	bare := root.Get("error").Null()
	for _, k := range knownErrors() {
		n, at := root, k.At[1:]
		if bare {
			at = strings.TrimPrefix(at, "error/")
		}
		for name := range strings.SplitSeq(at, "/") {
			n = n.Get(name)
		}
		text := word(n)
		if text == "" || k.Equals != "" && text != k.Equals || k.Has != "" && !strings.Contains(strings.ToLower(text), k.Has) {
			continue
		}
		kind, _ := sdk.ParseKind(k.Kind)
		return kind
	}
	return sdk.UpstreamError
}

// word is a member's text; services write codes as numbers too.
func word(n sdk.Node) string {
	if s := n.Str(); s != "" {
		return strings.Clone(s)
	}
	if n.Len() > 0 || n.Text().Present() {
		return ""
	}
	return string(n.Value().Raw())
}

func cite(annotation sdk.Node, out *sdk.Events) {
	if v := annotation.Value(); v.Present() {
		out.Add(sdk.Citation).Value = v
	}
}

// score tells the log probabilities of a text, in the form of chat completions: the list, under a name.
func score(list sdk.Node, out *sdk.Events) {
	if v := list.Value(); list.Len() > 0 && !v.Held() {
		out.Add(sdk.Logprobs).Value = sdk.RawValue(fmt.Appendf(nil, `{"content":%s}`, v.Raw()))
	}
}
