package openairesponses

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// maxKept bounds the text of an answer: the events that end a part, an item and the stream say all of it again.
const maxKept = 16 << 20

// stream writes an answer as events. A message and a thought are closed by whatever follows; a call stays open until its
// own end, so that calls whose pieces alternate are written as they come.
type stream struct {
	answer
	number  int // of the next event
	started bool
	ended   bool
	open    int // 1 + the index of the open message or thought; 0 none
	kept    int
	limit   int // of kept; 0 none
}

var (
	_ dialect.Bounded = (*stream)(nil)
	_ dialect.Failer  = (*stream)(nil)
)

// Failure says that the answer is longer than can be repeated at its end.
func (s *stream) Failure() *sdk.Failure { return s.failure }

// AppendFailure ends the response as failed.
func (s *stream) AppendFailure(dst []byte, f *sdk.Failure, _ string) []byte {
	if s.ended {
		return dst
	}
	s.failure = f
	return s.End(dst)
}

// Event appends the events that an event means. Nothing is written after the end.
func (s *stream) Event(dst []byte, e *sdk.Event) []byte {
	if s.ended || s.failure != nil {
		return dst
	}
	switch e.Kind {
	case sdk.Begin:
		s.name(e)
		return s.start(dst)
	case sdk.UsageSeen:
		s.usage = e.Usage
		return dst
	case sdk.Ping:
		return append(dst, Dialect{}.KeepAlive()...)
	case sdk.Failed:
		return s.AppendFailure(dst, &e.Failure, s.opts.RequestID)
	case sdk.Done:
		return dst
	}
	if e.Choice != 0 || s.finished {
		return dst
	}
	if s.kept += e.Text.Len() + e.Value.Len(); s.limit > 0 && s.kept > s.limit {
		s.failure = sdk.Fail(sdk.UpstreamError, "the answer is longer than a stream of responses can hold")
		return dst
	}
	return s.write(s.start(dst), e)
}

func (s *stream) write(dst []byte, e *sdk.Event) []byte {
	switch e.Kind {
	case sdk.TextDelta:
		return s.delta(dst, outputText, e.Text)
	case sdk.RefusalDelta:
		return s.delta(dst, refusal, e.Text)
	case sdk.ThinkingDelta:
		return s.delta(dst, summaryText, e.Text)
	case sdk.Signature:
		return s.sign(dst, e.Text)
	case sdk.Redacted:
		if e.Text.Empty() {
			return dst
		}
		dst = s.shut(dst)
		dst = s.add(dst, item{kind: reasoning})
		s.items[len(s.items)-1].sealed = bytes.Clone(e.Text.Raw())
		s.open = len(s.items)
		return s.shut(dst)
	case sdk.Citation:
		return s.cite(dst, e.Value)
	case sdk.Logprobs:
		return s.score(dst, e.Value)
	case sdk.Foreign:
		body := s.foreign(e)
		if body == nil {
			return dst
		}
		dst = s.add(s.shut(dst), item{kind: foreign, body: body})
		return s.close(dst, len(s.items)-1, completed)
	case sdk.Image:
		if e.Text.Empty() {
			return dst
		}
		dst = s.add(s.shut(dst), item{kind: foreign, body: s.image(e)})
		return s.close(dst, len(s.items)-1, completed)
	case sdk.Finish:
		s.finished, s.reason = true, e.Reason
		return s.closeAll(dst)
	}
	return s.tool(dst, e)
}

// image is the item of a picture, as OpenAI's own tool for them gives it
// (https://platform.openai.com/docs/guides/tools-image-generation).
func (a *answer) image(e *sdk.Event) []byte {
	body := append([]byte(`{"id":"ig_`), a.request()...)
	body = strconv.AppendInt(append(body, '_'), int64(len(a.items)), 10)
	body = append(body, `","type":"image_generation_call","status":"completed"`...)
	if format, ok := strings.CutPrefix(e.Type, "image/"); ok && format != "png" {
		body = jsonspan.AppendQuote(append(body, `,"output_format":`...), format)
	}
	return append(append(append(body, `,"result":"`...), e.Text.Raw()...), `"}`...)
}

// start begins the stream.
func (s *stream) start(dst []byte) []byte {
	if s.started {
		return dst
	}
	s.started = true
	s.name(nil)
	for _, name := range [...]string{"response.created", "response.in_progress"} {
		dst = s.append(append(s.event(dst, name), `,"response":`...), inProgress)
		dst = append(dst, "}\n\n"...)
	}
	return dst
}

// event begins an event up to its own members.
func (s *stream) event(dst []byte, name string) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: {\"type\":\""...), name...)
	dst = strconv.AppendInt(append(dst, `","sequence_number":`...), int64(s.number), 10)
	s.number++
	return dst
}

// about begins an event about a part of an item.
func (s *stream) about(dst []byte, name string, i int) []byte {
	dst = append(append(s.event(dst, name), `,"item_id":"`...), s.items[i].id...)
	return strconv.AppendInt(append(dst, `","output_index":`...), int64(i), 10)
}

// inside begins an event about the last part of an item.
func (s *stream) inside(dst []byte, name string, i int) []byte {
	dst = s.about(dst, name, i)
	index := `,"content_index":`
	if s.items[i].kind == reasoning {
		index = `,"summary_index":`
	}
	return strconv.AppendInt(append(dst, index...), int64(len(s.items[i].parts)-1), 10)
}

// add adds an item to the output.
func (s *stream) add(dst []byte, it item) []byte {
	i := len(s.items)
	it.id = append([]byte(it.kind.prefix()), s.request()...)
	it.id = strconv.AppendInt(append(it.id, '_'), int64(i), 10)
	it.status = inProgress
	s.items = append(s.items, it)
	return s.itemEvent(dst, "response.output_item.added", i)
}

// itemEvent appends an event that has an item as it now is.
func (s *stream) itemEvent(dst []byte, name string, i int) []byte {
	dst = strconv.AppendInt(append(s.event(dst, name), `,"output_index":`...), int64(i), 10)
	dst = s.items[i].append(append(dst, `,"item":`...), s.items[i].status)
	return append(dst, "}\n\n"...)
}

// delta appends a piece of text to the part that it belongs to.
func (s *stream) delta(dst []byte, k partKind, t sdk.Text) []byte {
	if t.Empty() {
		return dst
	}
	dst = s.in(dst, k)
	p := s.part()
	p.text = append(p.text, t.Raw()...)
	dst = s.inside(dst, k.events()+".delta", s.open-1)
	dst = append(append(append(dst, `,"delta":"`...), t.Raw()...), '"')
	if k == outputText {
		dst = append(dst, `,"logprobs":[]`...)
	}
	return append(dst, "}\n\n"...)
}

// part is the open part.
func (s *stream) part() *part {
	parts := s.items[s.open-1].parts
	return &parts[len(parts)-1]
}

// events is the name that the events of a kind of part begin with.
func (k partKind) events() string {
	switch k {
	case refusal:
		return "response.refusal"
	case summaryText:
		return "response.reasoning_summary_text"
	}
	return "response.output_text"
}

// in opens a part of a kind, and the item that it stands in, unless it is open. A thought that has its signature is
// complete.
func (s *stream) in(dst []byte, k partKind) []byte {
	want := message
	if k == summaryText {
		want = reasoning
	}
	if s.open == 0 || s.items[s.open-1].kind != want || len(s.items[s.open-1].sealed) > 0 {
		dst = s.add(s.shut(dst), item{kind: want})
		s.open = len(s.items)
	} else if len(s.items[s.open-1].parts) > 0 {
		if s.part().kind == k {
			return dst
		}
		dst = s.shutPart(dst)
	}
	it := &s.items[s.open-1]
	it.parts = append(it.parts, part{kind: k})
	name := "response.content_part.added"
	if k == summaryText {
		name = "response.reasoning_summary_part.added"
	}
	dst = append(s.inside(dst, name, s.open-1), `,"part":`...)
	return append(s.part().append(dst), "}\n\n"...)
}

// shutPart ends the open part.
func (s *stream) shutPart(dst []byte) []byte {
	i, p := s.open-1, s.part()
	member, name := `,"text":"`, "response.content_part.done"
	switch p.kind {
	case refusal:
		member = `,"refusal":"`
	case summaryText:
		name = "response.reasoning_summary_part.done"
	}
	dst = append(append(s.inside(dst, p.kind.events()+".done", i), member...), p.text...)
	dst = append(dst, '"')
	if p.kind == outputText {
		dst = append(append(append(dst, `,"logprobs":[`...), p.logprobs...), ']')
	}
	dst = append(s.inside(append(dst, "}\n\n"...), name, i), `,"part":`...)
	return append(p.append(dst), "}\n\n"...)
}

// shut ends the open message or thought, if any.
func (s *stream) shut(dst []byte) []byte { return s.shutAs(dst, completed) }

func (s *stream) shutAs(dst []byte, as status) []byte {
	if s.open == 0 {
		return dst
	}
	i := s.open - 1
	if len(s.items[i].parts) > 0 {
		dst = s.shutPart(dst)
	}
	s.open = 0
	return s.close(dst, i, as)
}

// close ends an item.
func (s *stream) close(dst []byte, i int, as status) []byte {
	s.items[i].status = as
	return s.itemEvent(dst, "response.output_item.done", i)
}

// sign takes a signature: of the call that is open, or of a thought, whose place for what only its provider reads is
// encrypted_content. One without a thought belongs to a thought that its provider has left out.
func (s *stream) sign(dst []byte, sig sdk.Text) []byte {
	if sig.Empty() {
		return dst
	}
	if n := len(s.items) - 1; s.open == 0 && n >= 0 && s.items[n].callID != nil && s.items[n].status == inProgress {
		s.items[n].signature = append(s.items[n].signature, sig.Raw()...)
		return dst
	}
	if s.open == 0 || s.items[s.open-1].kind != reasoning {
		dst = s.add(s.shut(dst), item{kind: reasoning})
		s.open = len(s.items)
	}
	it := &s.items[s.open-1]
	it.sealed = append(it.sealed, sig.Raw()...)
	return dst
}

func (s *stream) cite(dst []byte, v sdk.Value) []byte {
	note := appendAnnotation(nil, v)
	if len(note) == 0 {
		return dst
	}
	dst = s.in(dst, outputText)
	p := s.part()
	p.annotations = append(comma(p.annotations), note...)
	dst = s.inside(dst, "response.output_text.annotation.added", s.open-1)
	dst = strconv.AppendInt(append(dst, `,"annotation_index":`...), int64(p.notes), 10)
	p.notes++
	return append(append(append(dst, `,"annotation":`...), note...), "}\n\n"...)
}

// score keeps the tokens of a text, which are shown with its whole.
func (s *stream) score(dst []byte, v sdk.Value) []byte {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dst
	}
	list, ok := member(&doc, 0, "content")
	if !ok || doc.Len(list) == 0 {
		return dst
	}
	dst = s.in(dst, outputText)
	p := s.part()
	for i := range doc.Items(list) {
		p.logprobs = dialect.AppendLine(comma(p.logprobs), doc.Raw(i))
	}
	return dst
}

// comma separates the next item of a list.
func comma(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}

// closeAll ends what is open. Where the answer was cut short, so was that.
func (s *stream) closeAll(dst []byte) []byte {
	as := completed
	if s.status() != completed {
		as = cutShort
	}
	dst = s.shutAs(dst, as)
	for i := range s.items {
		if s.items[i].status == inProgress {
			dst = s.toolEnd(dst, i, as)
		}
	}
	return dst
}

// End closes what is open and ends the response.
func (s *stream) End(dst []byte) []byte {
	if s.ended {
		return dst
	}
	dst = s.closeAll(s.start(dst))
	s.ended = true
	as := s.status()
	dst = append(s.event(dst, "response."+string(as)), `,"response":`...)
	return append(s.opts.Seams.Append(s.append(dst, as)), "}\n\n"...)
}
