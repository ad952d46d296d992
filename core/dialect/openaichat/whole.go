package openaichat

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// whole collects an answer and writes it as one chat.completion at the end. What it keeps is bounded by the relay's
// limit for a whole answer.
type whole struct {
	opts    dialect.EncoderOptions
	head    []byte
	answers []answer
	usage   sdk.Usage
	ended   bool
}

// answer is one choice as it grows. Its texts are escaped.
type answer struct {
	choice
	said, refusal, reasoning []byte
	details, annotations     []byte // items of arrays
	images                   []byte // the same
	scored                   bool   // has logprobs
	tokens, refused          []byte // items of logprobs.content and logprobs.refusal
	made                     []made
	reason                   sdk.Reason
	native                   []byte
}

// made is one tool call as it grows.
type made struct{ id, name, input, signature []byte }

// Event keeps what an event means.
func (w *whole) Event(dst []byte, e *sdk.Event) []byte {
	if silent(e) {
		return dst
	}
	switch e.Kind {
	case sdk.Begin:
		if w.head == nil {
			w.head = appendHead(nil, w.opts, "chat.completion", e)
		}
	case sdk.UsageSeen:
		w.usage = e.Usage
	case sdk.Ping, sdk.Done, sdk.Failed, sdk.Foreign:
	default:
		a := w.answer(e.Choice)
		if a.finished {
			break
		}
		if e.Kind != sdk.Signature {
			a.settle()
		}
		w.add(a, e)
	}
	return dst
}

func (w *whole) answer(index int) *answer {
	for i := range w.answers {
		if w.answers[i].index == index {
			return &w.answers[i]
		}
	}
	w.answers = append(w.answers, answer{choice: choice{index: index}})
	return &w.answers[len(w.answers)-1]
}

// add takes one event of a choice.
func (w *whole) add(a *answer, e *sdk.Event) {
	switch e.Kind {
	case sdk.TextDelta:
		a.said = append(a.said, e.Text.Raw()...)
	case sdk.RefusalDelta:
		a.refusal = append(a.refusal, e.Text.Raw()...)
	case sdk.ThinkingDelta:
		a.reasoning = append(a.reasoning, e.Text.Raw()...)
		a.thought.add(e.Text)
	case sdk.Signature:
		i := a.open()
		if i < 0 {
			a.thought.sign(e.Text)
		} else if m := &a.made[i]; m.signature == nil {
			m.signature = append(m.signature, e.Text.Raw()...)
		}
	case sdk.Redacted:
		a.details = a.thought.appendRedacted(comma(a.details), e.Text)
	case sdk.Citation:
		a.annotations = appendAnnotation(comma(a.annotations), e.Value)
	case sdk.Image:
		a.images = appendImage(comma(a.images), e)
	case sdk.Logprobs:
		a.logprobs(e.Value)
	case sdk.Finish:
		a.finished, a.reason = true, e.Reason
		a.native = append(a.native, e.Native.Raw()...)
	default:
		a.tool(e, w.opts.RequestID)
	}
}

// settle keeps the signed form of a thought that has ended.
func (a *answer) settle() {
	if a.thought.signed() {
		a.details = a.thought.appendSigned(comma(a.details))
	}
}

func (a *answer) tool(e *sdk.Event, requestID string) {
	i := a.find(e.Call)
	switch {
	case e.Kind == sdk.ToolBegin && i < 0:
		i = len(a.calls)
		a.calls = append(a.calls, call{number: e.Call, custom: e.Custom})
		a.made = append(a.made, made{
			id:   appendCallID(nil, e.ID, requestID, a.index, i),
			name: append([]byte(nil), e.Name.Raw()...),
		})
	case i < 0 || a.calls[i].ended:
	case e.Kind == sdk.ToolInput:
		a.made[i].input = append(a.made[i].input, e.Text.Raw()...)
	case e.Kind == sdk.ToolEnd:
		a.calls[i].ended = true
	}
}

// logprobs joins the lists of a value to those that came before. The numbers keep their text.
func (a *answer) logprobs(v sdk.Value) {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil || doc.Kind(0) != jsonspan.Object {
		return
	}
	a.scored = true
	for name, list := range map[string]*[]byte{"content": &a.tokens, "refusal": &a.refused} {
		if arr, ok := member(&doc, 0, name); ok {
			for item := range doc.Items(arr) {
				*list = append(comma(*list), doc.Raw(item)...)
			}
		}
	}
}

// comma separates the next item of a list.
func comma(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}

// End writes the answer.
func (w *whole) End(dst []byte) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	if w.head == nil {
		w.head = appendHead(nil, w.opts, "chat.completion", nil)
	}
	if len(w.answers) == 0 {
		w.answer(0)
	}
	dst = append(dst, w.head...)
	dst = append(dst, `"choices":[`...)
	for i := range w.answers {
		if i > 0 {
			dst = append(dst, ',')
		}
		w.answers[i].settle()
		dst = w.answers[i].append(dst)
	}
	dst = append(dst, ']')
	if w.usage.Known {
		dst = appendUsage(append(dst, `,"usage":`...), w.usage)
	}
	return append(dst, '}')
}

// append writes the choice.
func (a *answer) append(dst []byte) []byte {
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(a.index), 10)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	dst = a.appendContent(dst)
	dst = append(dst, `,"refusal":`...)
	dst = appendTextOrNull(dst, a.refusal)
	if len(a.reasoning) > 0 {
		dst = appendTextOrNull(append(dst, `,"reasoning_content":`...), a.reasoning)
	}
	dst = appendList(dst, `,"reasoning_details":[`, a.details)
	dst = appendList(dst, `,"images":[`, a.images)
	dst = appendList(dst, `,"annotations":[`, a.annotations)
	dst = a.appendCalls(dst)
	dst = a.appendLogprobs(append(dst, "},"...))
	word := finishWord(a.reason, len(a.calls) > 0, len(a.refusal) > 0)
	if len(a.native) > 0 && string(a.native) != word {
		dst = append(dst, `,"native_finish_reason":"`...)
		dst = append(append(dst, a.native...), '"')
	}
	dst = append(dst, `,"finish_reason":"`...)
	return append(append(dst, word...), `"}`...)
}

// appendContent writes the text; null where the answer is calls or a refusal alone.
func (a *answer) appendContent(dst []byte) []byte {
	if len(a.said) == 0 && len(a.calls) == 0 && len(a.refusal) == 0 {
		return append(dst, `""`...)
	}
	return appendTextOrNull(dst, a.said)
}

func (a *answer) appendCalls(dst []byte) []byte {
	for i := range a.made {
		m := &a.made[i]
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(append(dst, `{"id":"`...), m.id...)
		dst = append(dst, `",`...)
		dst = appendCallHead(dst, a.calls[i].custom, m.name)
		if len(m.input) == 0 && !a.calls[i].custom {
			dst = append(dst, "{}"...)
		}
		dst = append(append(dst, m.input...), `"}`...)
		if len(m.signature) > 0 {
			dst = appendCallSignature(append(dst, ','), m.signature)
		}
		dst = append(dst, '}')
	}
	if len(a.made) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

func (a *answer) appendLogprobs(dst []byte) []byte {
	if !a.scored {
		return append(dst, `"logprobs":null`...)
	}
	dst = append(dst, `"logprobs":{"content":[`...)
	dst = append(dst, a.tokens...)
	dst = append(dst, `],"refusal":`...)
	if len(a.refused) == 0 {
		return append(dst, "null}"...)
	}
	dst = append(append(dst, '['), a.refused...)
	return append(dst, "]}"...)
}

// appendList writes the items of a list behind its opening, and nothing for none.
func appendList(dst []byte, opening string, items []byte) []byte {
	if len(items) == 0 {
		return dst
	}
	return append(append(append(dst, opening...), items...), ']')
}

// appendTextOrNull writes escaped text as a string; null for none.
func appendTextOrNull(dst, text []byte) []byte {
	if len(text) == 0 {
		return append(dst, "null"...)
	}
	return append(append(append(dst, '"'), text...), '"')
}
