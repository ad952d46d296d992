package openai

import (
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// minOutput is the least output limit that responses take
// (https://platform.openai.com/docs/api-reference/responses/create, max_output_tokens).
const minOutput = 16

// response writes a request for a response that the service does not store: what it said comes back with the next
// request, as the other dialects have it.
func (e *encoding) response() error {
	e.w.Object()
	e.w.Name("model").String(e.Model)
	if err := e.input(); err != nil {
		return err
	}
	if err := e.tools(); err != nil {
		return err
	}
	if e.MaxOutput > 0 {
		e.w.Name("max_output_tokens").Int(int64(e.outputLimit()))
	}
	if err := e.responseSampling(); err != nil {
		return err
	}
	e.textFormat()
	sealed := e.reasoning()
	e.identity()
	e.unknown()
	e.include(sealed)
	if i := e.shares("store"); i >= 0 {
		e.w.Name("store").Value(e.Unknown[i].Value)
	} else if !e.strict {
		e.w.Name("store").Bool(false)
	}
	if e.Stream {
		e.w.Name("stream").Bool(true)
	}
	e.w.EndObject()
	return nil
}

func (e *encoding) outputLimit() int {
	if e.MaxOutput < minOutput && !e.compatible {
		e.plan.Approximate("max_completion_tokens", "responses take 16 or more: sent as 16")
		return minOutput
	}
	return e.MaxOutput
}

// responseSampling writes what responses have to steer the model with, which is little.
func (e *encoding) responseSampling() error {
	if e.N > 1 {
		return &sdk.Inexpressible{What: "several answers", Path: "n"}
	}
	e.w.ValueMember("temperature", e.Temperature)
	e.w.ValueMember("top_p", e.TopP)
	e.w.ValueMember("top_logprobs", e.TopLogprobs)
	for _, m := range []struct {
		name  string
		value sdk.Value
	}{{"top_k", e.TopK}, {"seed", e.Seed}} {
		if m.value.Present() {
			e.plan.Drop(m.name, "responses have no "+m.name)
		}
	}
	for _, m := range []struct {
		name  string
		value sdk.Value
	}{{"frequency_penalty", e.FrequencyPenalty}, {"presence_penalty", e.PresencePenalty}, {"logit_bias", e.LogitBias}} {
		if raw := string(m.value.Raw()); m.value.Present() && raw != "0" && raw != "0.0" && raw != "{}" {
			e.plan.Lose(m.name, "responses have no "+m.name)
		}
	}
	if len(e.Stop) > 0 {
		e.plan.Lose("stop", "responses have no stop texts")
	}
	return nil
}

// shares gives the place among the unknown members of one that is shared with the client's dialect, or -1.
func (e *encoding) shares(name string) int {
	if !e.shared(name) {
		return -1
	}
	return slices.IndexFunc(e.Unknown, func(m sdk.Member) bool { return m.Path == name })
}

// textFormat writes the form that the answer must have, and how wordy it is to be.
func (e *encoding) textFormat() {
	f := &e.Format
	wordy := e.wordy()
	if f.Kind != sdk.FormatJSON && f.Kind != sdk.FormatSchema && !wordy.Present() {
		return
	}
	e.w.Name("text").Object()
	switch f.Kind {
	case sdk.FormatJSON:
		e.w.Name("format").Object()
		e.w.Name("type").String("json_object")
		e.w.EndObject()
	case sdk.FormatSchema:
		e.w.Name("format").Object()
		e.w.Name("type").String("json_schema")
		e.schema()
		e.w.EndObject()
	}
	e.w.ValueMember("verbosity", wordy)
	e.w.EndObject()
}

// reasoning writes how hard the model is to reason and whether it is to show a summary of that. It says whether the
// client carries reasoning, so that the service must give it in a sealed form.
func (e *encoding) reasoning() bool {
	r := &e.Reasoning
	effort, summary := e.effort(), r.Summary
	if summary == "" && e.shown() {
		summary = "auto"
	}
	if effort != "" || summary != "" {
		e.w.Name("reasoning").Object()
		e.w.StringMember("effort", effort)
		e.w.StringMember("summary", summary)
		e.w.EndObject()
	}
	return r.Mode != sdk.ReasoningOff && (effort != "" && effort != "none" || summary != "")
}

// shown says whether the client has asked to see thoughts. An effort alone is no such wish: a summary is refused to
// accounts that are not verified.
func (e *encoding) shown() bool {
	r := &e.Reasoning
	switch {
	case r.Mode == sdk.ReasoningOff || r.Effort == "none" || r.Display == "omitted":
		return false
	case r.Include.Present():
		return string(r.Include.Raw()) == "true"
	}
	return e.Dialect == "anthropic" && (r.Mode == sdk.ReasoningOn || r.Mode == sdk.ReasoningAdaptive)
}

// include asks for what the service leaves out of its answer of itself. A model that does not reason refuses to be asked
// for sealed reasoning.
func (e *encoding) include(sealed bool) {
	logprobs := string(e.Logprobs.Raw()) == "true"
	sealed = sealed && !e.compatible
	sources := e.searches && !strings.HasPrefix(e.Dialect, "openai-") // other dialects show what a search has found
	if !logprobs && !sealed && !sources {
		return
	}
	e.w.Name("include").Array()
	if sealed {
		e.w.String("reasoning.encrypted_content")
	}
	if logprobs {
		e.w.String("message.output_text.logprobs")
	}
	if sources {
		e.w.String("web_search_call.action.sources")
	}
	e.w.EndArray()
}

// input writes the messages as items. What the system says first is the instructions, unless nobody else says anything.
func (e *encoding) input() error {
	var first []piece
	n := 0
	for n < len(e.Messages) && e.Messages[n].Role == sdk.System {
		n++
	}
	if n == len(e.Messages) {
		n = 0
	}
	for i := range n {
		first = append(first, e.systemTexts(&e.Messages[i])...)
	}
	if len(first) > 0 {
		e.w.Name("instructions")
		e.joined(first)
	}
	e.w.Name("input").Array()
	for i := n; i < len(e.Messages); i++ {
		if err := e.items(&e.Messages[i]); err != nil {
			return err
		}
	}
	e.w.EndArray()
	return nil
}

// items writes what a message becomes.
func (e *encoding) items(m *sdk.Message) error {
	if !m.Name.Empty() {
		e.plan.Drop(m.Path+".name", "responses have no names of speakers")
	}
	switch m.Role {
	case sdk.System, sdk.Developer:
		if texts := e.systemTexts(m); len(texts) > 0 {
			e.says(e.systemRole(m))
			e.joined(texts)
			e.w.EndObject()
		}
		return nil
	case sdk.Assistant:
		return e.turn(m)
	}
	var said []piece
	for i := range m.Parts {
		p := piece{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		if p.Kind != sdk.PartResult {
			said = append(said, p)
			continue
		}
		if err := e.asked(said); err != nil {
			return err
		}
		said = nil
		if err := e.outputItem(p); err != nil {
			return err
		}
	}
	if len(m.Parts) == 0 {
		said = []piece{{&sdk.Part{Kind: sdk.PartText, Text: sdk.T("")}, m.Path}}
	}
	return e.asked(said)
}

// says begins a message, whose content follows.
func (e *encoding) says(role string) {
	e.w.Object()
	e.w.Name("type").String("message")
	e.w.Name("role").String(role)
	e.w.Name("content")
}

// asked writes a message of the user.
func (e *encoding) asked(parts []piece) error {
	if len(parts) == 0 {
		return nil
	}
	e.says("user")
	if len(parts) == 1 && parts[0].Kind == sdk.PartText {
		e.joined(parts)
	} else if err := e.inputParts(parts); err != nil {
		return err
	}
	e.w.EndObject()
	return nil
}

func (e *encoding) inputParts(parts []piece) error {
	e.w.Array()
	for _, p := range parts {
		if err := e.inputPart(p); err != nil {
			return err
		}
	}
	e.w.EndArray()
	return nil
}

func (e *encoding) inputPart(p piece) error {
	switch p.Kind {
	case sdk.PartText, sdk.PartRefusal:
		if !p.Text.Empty() {
			e.inputText(p.Text)
		}
		return nil
	case sdk.PartImage, sdk.PartAudio, sdk.PartDocument, sdk.PartVideo:
		return e.inputMedia(p)
	}
	e.plan.Lose(p.path, "responses have no part here of type "+partType(p.Part))
	return nil
}

func (e *encoding) inputText(texts ...sdk.Text) {
	e.w.Object()
	e.w.Name("type").String("input_text")
	e.w.Name("text").Joined(texts...)
	e.w.EndObject()
}

// turn writes what the model thought, said and called, in order.
func (e *encoding) turn(m *sdk.Message) error {
	e.open = nil
	var said, thoughts []piece
	for i := range m.Parts {
		p := piece{&m.Parts[i], sdk.PartPath(m.Path, m.Parts, i)}
		if p.Kind == sdk.PartText || p.Kind == sdk.PartRefusal {
			if !p.Text.Empty() {
				said = append(said, p)
			}
			continue
		}
		switch p.Kind {
		case sdk.PartThinking:
			if len(said) > 0 {
				e.thought(thoughts, sdk.Text{})
				e.answer(said)
				said, thoughts = nil, nil
			}
			thoughts = append(thoughts, p)
		case sdk.PartRedacted:
			if !sealedHere(p.Part) {
				e.plan.Drop(p.path, "sealed reasoning can only be read by the provider that made it")
				continue
			}
			e.answer(said)
			e.thought(thoughts, p.Text)
			said, thoughts = nil, nil
		case sdk.PartCall:
			e.thought(thoughts, sdk.Text{})
			e.answer(said)
			said, thoughts = nil, nil
			if err := e.callItem(p); err != nil {
				return err
			}
		default:
			e.plan.LeavePart(p.Part, p.path, "an assistant message has no part of type "+partType(p.Part))
		}
	}
	e.thought(thoughts, sdk.Text{})
	e.answer(said)
	return nil
}

// answer writes a message of the model.
func (e *encoding) answer(parts []piece) {
	if len(parts) == 0 {
		return
	}
	e.says("assistant")
	if len(parts) == 1 && parts[0].Kind == sdk.PartText {
		e.joined(parts)
		e.w.EndObject()
		return
	}
	e.w.Array()
	for _, p := range parts {
		e.w.Object()
		if p.Kind == sdk.PartRefusal {
			e.w.Name("type").String("refusal")
			e.w.Name("refusal").Text(p.Text)
		} else {
			e.w.Name("type").String("output_text")
			e.w.Name("text").Text(p.Text)
		}
		e.w.EndObject()
	}
	e.w.EndArray()
	e.w.EndObject()
}

// sealedHere says whether reasoning was sealed by OpenAI: by the name of the form where the client kept it, else by the
// version byte of a Fernet token that it begins with.
func sealedHere(p *sdk.Part) bool {
	if p.Type != "" {
		return p.Type == "openai-responses-v1"
	}
	return p.Text.HasPrefix("gAAAA")
}

// thought writes an item of reasoning: the sealed form with the summary that the client saw. Without the sealed form
// only services that take plain reasoning back are sent any.
func (e *encoding) thought(parts []piece, sealed sdk.Text) {
	shown, content := "summary", "summary_text"
	if !sealed.Present() {
		if len(parts) == 0 {
			return
		}
		if !e.echo {
			e.plan.Drop(parts[0].path, "the service takes no reasoning of earlier turns that is not sealed")
			return
		}
		shown, content = "content", "reasoning_text"
	}
	e.w.Object()
	e.w.Name("type").String("reasoning")
	if shown != "summary" {
		e.w.Name("summary").Array() // required
		e.w.EndArray()
	}
	e.w.Name(shown).Array()
	for _, p := range parts {
		e.w.Object()
		e.w.Name("type").String(content)
		e.w.Name("text").Text(p.Text)
		e.w.EndObject()
	}
	e.w.EndArray()
	e.w.TextMember("encrypted_content", sealed)
	e.w.EndObject()
}
