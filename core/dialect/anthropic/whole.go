package anthropic

import (
	"bytes"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// whole collects an answer and writes it as one message at the end. What it keeps is bounded by the relay's limit for a
// whole answer.
type whole struct {
	opts   dialect.EncoderOptions
	who    identity
	end    ending
	usage  sdk.Usage
	blocks []grown
	calls  int
	ended  bool
}

// grown is one block of a message. Its texts are escaped.
type grown struct {
	kind      block
	body      []byte // text, thinking, the text of a call's input; a whole block where kind is none
	signature []byte
	citations []byte // items of an array
	call      int
	custom    bool
	ended     bool // the call has all of its input
	id, name  []byte
}

// Event keeps what an event means.
func (w *whole) Event(dst []byte, e *sdk.Event) []byte {
	switch e.Kind {
	case sdk.Begin:
		w.who.name(w.opts, e)
	case sdk.UsageSeen:
		w.usage = e.Usage
	case sdk.Ping, sdk.Done, sdk.Failed, sdk.Logprobs:
	default:
		if e.Choice == 0 && !w.end.finished {
			w.end.note(e)
			w.add(e)
		}
	}
	return dst
}

func (w *whole) add(e *sdk.Event) {
	switch e.Kind {
	case sdk.TextDelta, sdk.RefusalDelta:
		if !e.Text.Empty() {
			b := w.in(text)
			b.body = append(b.body, e.Text.Raw()...)
		}
	case sdk.ThinkingDelta:
		if !e.Text.Empty() {
			b := w.in(thinking)
			b.body = append(b.body, e.Text.Raw()...)
		}
	case sdk.Image:
		b := w.in(text)
		b.body = append(b.body, pictured(e).Raw()...)
	case sdk.Signature:
		w.sign(e.Text)
	case sdk.Redacted:
		raw := append([]byte(`{"type":"redacted_thinking","data":"`), e.Text.Raw()...)
		w.blocks = append(w.blocks, grown{body: append(raw, `"}`...)})
	case sdk.Foreign:
		for _, b := range foreignBlocks(e, w.opts.RequestID, len(w.blocks)) {
			w.blocks = append(w.blocks, grown{body: b})
		}
	case sdk.Citation:
		if citable(e.Value) {
			b := w.in(text)
			if len(b.citations) > 0 {
				b.citations = append(b.citations, ',')
			}
			b.citations = append(b.citations, e.Value.Raw()...)
		}
	default:
		w.tool(e)
	}
}

// tool takes an event of a tool call.
func (w *whole) tool(e *sdk.Event) {
	b := w.called(e.Call)
	switch {
	case e.Kind == sdk.ToolBegin && b == nil:
		w.blocks = append(w.blocks, grown{kind: toolUse, call: e.Call, custom: e.Custom, name: bytes.Clone(e.Name.Raw()),
			id: appendCallID(nil, e.ID, w.opts.RequestID, w.calls)})
		w.calls++
	case b == nil || b.ended:
	case e.Kind == sdk.ToolInput:
		b.body = append(b.body, e.Text.Raw()...)
	case e.Kind == sdk.ToolEnd:
		b.ended = true
	}
}

// in gives the last block where it is of a type and may grow, or a new one.
func (w *whole) in(b block) *grown {
	if n := len(w.blocks) - 1; n >= 0 && w.blocks[n].kind == b && len(w.blocks[n].signature) == 0 {
		return &w.blocks[n]
	}
	w.blocks = append(w.blocks, grown{kind: b})
	return &w.blocks[len(w.blocks)-1]
}

// sign gives a signature to the thought before it. That of a tool call has no place here; one without a thought belongs
// to a thought that its provider has left out.
func (w *whole) sign(sig sdk.Text) {
	if sig.Empty() {
		return
	}
	n := len(w.blocks) - 1
	if n >= 0 && w.blocks[n].kind == toolUse {
		return
	}
	if n < 0 || w.blocks[n].kind != thinking {
		w.in(thinking)
		n++
	}
	w.blocks[n].signature = append(w.blocks[n].signature, sig.Raw()...)
}

func (w *whole) called(call int) *grown {
	for i := range w.blocks {
		if b := &w.blocks[i]; b.kind == toolUse && b.call == call {
			return b
		}
	}
	return nil
}

// End writes the message.
func (w *whole) End(dst []byte) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	w.who.name(w.opts, nil)
	dst = append(w.who.append(dst), `"content":[`...)
	for i := range w.blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = w.blocks[i].append(dst)
	}
	dst = w.end.append(append(dst, "],"...))
	dst = append(dst, `,"usage":`...)
	return append(appendUsage(dst, w.usage, w.usage.TotalOutput()), '}')
}

// append writes the block.
func (b *grown) append(dst []byte) []byte {
	switch b.kind {
	case text:
		dst = append(append(dst, `{"type":"text","text":"`...), b.body...)
		if dst = append(dst, '"'); len(b.citations) > 0 {
			dst = append(append(append(dst, `,"citations":[`...), b.citations...), ']')
		}
		return append(dst, '}')
	case thinking:
		dst = append(append(dst, `{"type":"thinking","thinking":"`...), b.body...)
		return append(append(append(dst, `","signature":"`...), b.signature...), `"}`...)
	case toolUse:
		dst = append(append(dst, `{"type":"tool_use","id":"`...), b.id...)
		dst = append(append(dst, `","name":"`...), b.name...)
		return append(b.appendInput(append(dst, `","input":`...)), '}')
	}
	return append(dst, b.body...)
}

// appendInput writes a call's input, which must be an object. Text that is none, as of a call that the token limit cut
// short, is kept in one, under the name that Anthropic proposes for it
// (https://docs.claude.com/en/docs/agents-and-tools/tool-use/fine-grained-tool-streaming).
func (b *grown) appendInput(dst []byte) []byte {
	if b.custom {
		return append(append(append(dst, `{"input":"`...), b.body...), `"}`...)
	}
	input, err := jsonspan.AppendUnescape(nil, b.body)
	if err == nil {
		input = bytes.TrimSpace(input)
	}
	switch {
	case err == nil && (len(input) == 0 || string(input) == "null"):
		return append(dst, "{}"...)
	case err == nil && input[0] == '{' && jsonspan.Valid(input, jsonspan.Limits{AllowDuplicates: true}) == nil:
		return append(dst, input...)
	}
	return append(append(append(dst, `{"INVALID_JSON":"`...), b.body...), `"}`...)
}
