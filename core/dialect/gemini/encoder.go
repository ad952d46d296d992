package gemini

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// maxKept bounds what waits to be written: the arguments of calls, which go out whole, and sources.
const maxKept = 4 << 20

// NewEncoder makes the writer of one answer: chunks, as events or as one array, or a whole answer.
func (Dialect) NewEncoder(o dialect.EncoderOptions) dialect.Encoder {
	if !o.Stream {
		return &encoder{opts: o, whole: true}
	}
	return &encoder{opts: o}
}

// encoder writes an answer. Its texts are escaped. A stream has one part in each chunk; a whole answer collects the parts,
// and what it keeps is bounded by the relay's limit for a whole answer.
type encoder struct {
	opts       dialect.EncoderOptions
	whole      bool
	id, model  []byte
	candidates []candidate
	calls      int // that have begun, of all candidates
	usage      sdk.Usage
	chunks     int
	kept       int
	ended      bool
	failure    *sdk.Failure
}

var (
	_ dialect.Bounded = (*encoder)(nil)
	_ dialect.Failer  = (*encoder)(nil)
)

// candidate is one of the answers.
type candidate struct {
	index    int
	parts    []part // of a whole answer
	last     partKind
	calls    []call
	sources  []byte // items of groundingChunks
	chosen   []byte // items of chosenCandidates
	top      []byte // items of topCandidates
	reason   sdk.Reason
	refused  bool
	finished bool
}

// partKind says what a part holds.
type partKind uint8

const (
	nothing partKind = iota
	textPart
	thoughtPart
	otherPart
)

// part is a part of an answer.
type part struct {
	kind      partKind
	body      []byte // a text; a part of another kind whole
	signature []byte
}

// call is a call that has begun.
type call struct {
	number          int // as the events count it
	custom, ended   bool
	id, name, input []byte
	signature       []byte
}

// Failure says that more had to wait than is kept; nothing is written after it but the error.
func (e *encoder) Failure() *sdk.Failure { return e.failure }

// AppendFailure ends a stream with the error, in its framing. A whole answer has no place for it.
func (e *encoder) AppendFailure(dst []byte, f *sdk.Failure, requestID string) []byte {
	if e.ended || e.whole {
		return dst
	}
	e.ended = true
	if e.opts.Framing == "array" {
		return appendArrayError(dst, f, requestID, e.chunks)
	}
	return Dialect{}.AppendStreamError(dst, f, requestID)
}

// Event appends the chunks that an event means. After the end of the answer, and of a candidate, nothing is written.
func (e *encoder) Event(dst []byte, ev *sdk.Event) []byte {
	if e.ended || e.failure != nil {
		return dst
	}
	switch ev.Kind {
	case sdk.Begin:
		e.name(ev)
		return dst
	case sdk.UsageSeen:
		e.usage = ev.Usage
		return dst
	case sdk.Ping:
		if e.whole {
			return dst
		}
		return append(dst, Dialect{}.KeepAlive()...)
	case sdk.Failed:
		return e.AppendFailure(dst, &ev.Failure, e.opts.RequestID)
	case sdk.Done:
		return dst
	}
	c := e.candidate(ev.Choice)
	if c.finished {
		return dst
	}
	return e.write(dst, c, ev)
}

// write appends what an event of a candidate means.
func (e *encoder) write(dst []byte, c *candidate, ev *sdk.Event) []byte {
	switch ev.Kind {
	case sdk.TextDelta, sdk.RefusalDelta:
		c.refused = c.refused || ev.Kind == sdk.RefusalDelta && !ev.Text.Empty()
		return e.text(dst, c, textPart, ev.Text)
	case sdk.ThinkingDelta:
		return e.text(dst, c, thoughtPart, ev.Text)
	case sdk.Signature:
		return e.sign(dst, c, ev.Text)
	case sdk.Redacted:
		if ev.Text.Empty() {
			return dst
		}
		raw := append([]byte(`{"thought":true,"thoughtSignature":"`), ev.Text.Raw()...)
		return e.put(dst, c, part{kind: otherPart, body: append(raw, `"}`...)})
	case sdk.Foreign:
		if !ours(ev.Type) || !ev.Value.Present() {
			return dst
		}
		return e.put(dst, c, part{kind: otherPart, body: dialect.AppendLine(nil, ev.Value.Raw())})
	case sdk.Image:
		return e.image(dst, c, ev)
	case sdk.Citation:
		e.cite(c, ev.Value)
	case sdk.Logprobs:
		return e.score(dst, c, ev.Value)
	case sdk.Finish:
		dst = e.release(dst, c)
		c.finished, c.reason = true, ev.Reason
	default:
		return e.tool(dst, c, ev)
	}
	return dst
}

// image writes a picture.
func (e *encoder) image(dst []byte, c *candidate, ev *sdk.Event) []byte {
	if ev.Text.Empty() {
		return dst
	}
	raw := jsonspan.AppendQuote([]byte(`{"inlineData":{"mimeType":`), ev.Type)
	raw = append(append(raw, `,"data":"`...), ev.Text.Raw()...)
	return e.put(dst, c, part{kind: otherPart, body: append(raw, `"}}`...)})
}

// ours says whether a foreign block is a part of this dialect.
func ours(typ string) bool {
	switch typ {
	case "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse":
		return true
	}
	return false
}

// name settles the answer's id and model by the event that begins it; nil where there was none.
func (e *encoder) name(begin *sdk.Event) {
	if e.id != nil {
		return
	}
	if begin != nil && !begin.ID.Empty() {
		e.id = bytes.Clone(begin.ID.Raw())
	} else {
		e.id = []byte(strings.TrimPrefix(e.opts.RequestID, "req_"))
	}
	if e.opts.Model == "" && begin != nil {
		e.model = bytes.Clone(begin.Name.Raw())
	} else {
		e.model = jsonspan.AppendEscape(nil, []byte(e.opts.Model))
	}
}

func (e *encoder) candidate(index int) *candidate {
	for i := range e.candidates {
		if e.candidates[i].index == index {
			return &e.candidates[i]
		}
	}
	e.candidates = append(e.candidates, candidate{index: index})
	return &e.candidates[len(e.candidates)-1]
}

func (e *encoder) text(dst []byte, c *candidate, k partKind, t sdk.Text) []byte {
	if t.Empty() {
		return dst
	}
	return e.put(dst, c, part{kind: k, body: t.Raw()})
}

// sign writes a signature: of the call that is open, or of the text or thought before it. One that follows neither belongs
// to a thought that its provider has left out.
func (e *encoder) sign(dst []byte, c *candidate, sig sdk.Text) []byte {
	if sig.Empty() {
		return dst
	}
	if n := len(c.calls) - 1; n >= 0 && !c.calls[n].ended {
		if k := &c.calls[n]; k.signature == nil {
			k.signature = bytes.Clone(sig.Raw())
		}
		return dst
	}
	k := c.last
	if k != textPart {
		k = thoughtPart
	}
	return e.put(dst, c, part{kind: k, signature: sig.Raw()})
}

// put writes a part: as a chunk, or into the whole answer, where the pieces of one text become one.
func (e *encoder) put(dst []byte, c *candidate, p part) []byte {
	c.last = p.kind
	if !e.whole {
		dst = e.begin(dst)
		dst = append(p.append(append(dst, `{"candidates":[{"content":{"parts":[`...)), `],"role":"model"},"index":`...)
		dst = append(strconv.AppendInt(dst, int64(c.index), 10), "}],"...)
		return e.end(dst)
	}
	if n := len(c.parts) - 1; p.kind != otherPart && n >= 0 && c.parts[n].kind == p.kind && c.parts[n].signature == nil {
		c.parts[n].body = append(c.parts[n].body, p.body...)
		c.parts[n].signature = bytes.Clone(p.signature)
		return dst
	}
	p.body, p.signature = bytes.Clone(p.body), bytes.Clone(p.signature)
	c.parts = append(c.parts, p)
	return dst
}

// append writes the part.
func (p *part) append(dst []byte) []byte {
	if p.kind == otherPart {
		return append(dst, p.body...)
	}
	dst = append(append(append(dst, `{"text":"`...), p.body...), '"')
	if p.kind == thoughtPart {
		dst = append(dst, `,"thought":true`...)
	}
	if len(p.signature) > 0 {
		dst = append(append(append(dst, `,"thoughtSignature":"`...), p.signature...), '"')
	}
	return append(dst, '}')
}

// begin begins a chunk in the stream's framing.
func (e *encoder) begin(dst []byte) []byte {
	e.chunks++
	switch {
	case e.whole:
		return dst
	case e.opts.Framing != "array":
		return append(dst, "data: "...)
	case e.chunks == 1:
		return append(dst, '[')
	}
	return append(dst, ",\r\n"...)
}

// end writes the members that all chunks and a whole answer end with.
func (e *encoder) end(dst []byte) []byte {
	e.name(nil)
	dst = append(append(dst, `"modelVersion":"`...), e.model...)
	dst = append(append(append(dst, `","responseId":"`...), e.id...), `"}`...)
	if e.whole || e.opts.Framing == "array" {
		return dst
	}
	return append(dst, "\r\n\r\n"...)
}

// End writes the last chunk, which has the reason of each candidate's end and the usage, or the whole answer.
func (e *encoder) End(dst []byte) []byte {
	if e.ended {
		return dst
	}
	if len(e.candidates) == 0 {
		e.candidate(0)
	}
	for i := range e.candidates {
		if c := &e.candidates[i]; !c.finished && e.failure == nil {
			dst = e.release(dst, c)
		}
	}
	if e.failure != nil {
		return e.AppendFailure(dst, e.failure, e.opts.RequestID)
	}
	dst = append(e.begin(dst), `{"candidates":[`...)
	for i := range e.candidates {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.candidates[i].append(dst)
	}
	dst = append(dst, ']')
	if e.usage.Known {
		dst = appendUsage(append(dst, `,"usageMetadata":`...), e.usage)
	}
	if !e.whole {
		dst = e.opts.Seams.Append(dst)
	}
	dst = e.end(append(dst, ','))
	e.ended = true
	if !e.whole && e.opts.Framing == "array" {
		return append(dst, "]\r\n"...)
	}
	return dst
}

// append writes the candidate at its end, with the parts that have not been written.
func (c *candidate) append(dst []byte) []byte {
	dst = append(dst, `{"content":{"parts":[`...)
	for i := range c.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.parts[i].append(dst)
	}
	if len(c.parts) == 0 { // clients read the first part of each chunk
		dst = append(dst, `{"text":""}`...)
	}
	dst = append(append(append(dst, `],"role":"model"},"finishReason":"`...), c.word()...), '"')
	dst = strconv.AppendInt(append(dst, `,"index":`...), int64(c.index), 10)
	if len(c.sources) > 0 {
		dst = append(append(append(dst, `,"groundingMetadata":{"groundingChunks":[`...), c.sources...), "]}"...)
	}
	if len(c.chosen) > 0 {
		dst = append(c.appendScores(append(dst, ','), c.chosen, c.top), '}')
		return dst
	}
	return append(dst, '}')
}

// word is the finishReason. Calls have none of their own.
func (c *candidate) word() string {
	switch c.reason {
	case sdk.ReasonLength, sdk.ReasonContext:
		return "MAX_TOKENS"
	case sdk.ReasonFilter:
		return "SAFETY"
	case sdk.ReasonRefusal:
		if !c.refused { // otherwise the refusal itself is said
			return "SAFETY"
		}
	case sdk.ReasonPause:
		return "CONTINUATION"
	case sdk.ReasonFault:
		return "OTHER"
	}
	return "STOP"
}
