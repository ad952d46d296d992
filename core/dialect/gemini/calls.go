package gemini

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// tool takes an event of a tool call, which goes out whole at its end.
func (e *encoder) tool(dst []byte, c *candidate, ev *sdk.Event) []byte {
	i := -1
	for n := range c.calls {
		if c.calls[n].number == ev.Call {
			i = n
		}
	}
	switch {
	case ev.Kind == sdk.ToolBegin && i < 0:
		c.calls = append(c.calls, call{number: ev.Call, custom: ev.Custom, name: bytes.Clone(ev.Name.Raw()), id: e.callID(ev.ID)})
		e.calls++
	case i < 0 || c.calls[i].ended:
	case ev.Kind == sdk.ToolInput:
		if e.keep(ev.Text.Len()) {
			c.calls[i].input = append(c.calls[i].input, ev.Text.Raw()...)
		}
	case ev.Kind == sdk.ToolEnd:
		return e.finishCall(dst, c, i)
	}
	return dst
}

// keep counts bytes that wait to be written.
func (e *encoder) keep(n int) bool {
	if e.kept += n; e.kept > maxKept && !e.whole {
		e.failure = sdk.Fail(sdk.UpstreamError, "the answer has more arguments and sources than can wait for their end")
	}
	return e.failure == nil
}

// callID is a call's id, or one that is made where its provider gives none: one that no other call of the answer or of
// another request has.
func (e *encoder) callID(id sdk.Text) []byte {
	if !id.Empty() {
		return bytes.Clone(id.Raw())
	}
	made := append([]byte("call_"), strings.TrimPrefix(e.opts.RequestID, "req_")...)
	return strconv.AppendInt(append(made, '_'), int64(e.calls), 10)
}

// release writes the calls that have not ended by themselves.
func (e *encoder) release(dst []byte, c *candidate) []byte {
	for i := range c.calls {
		if !c.calls[i].ended {
			dst = e.finishCall(dst, c, i)
		}
	}
	return dst
}

func (e *encoder) finishCall(dst []byte, c *candidate, i int) []byte {
	k := &c.calls[i]
	k.ended = true
	e.kept -= len(k.input)
	raw := append(append([]byte(`{"functionCall":{"id":"`), k.id...), `","name":"`...)
	raw = k.appendArguments(append(append(raw, k.name...), `","args":`...))
	k.input = nil
	if raw = append(raw, '}'); len(k.signature) > 0 {
		raw = append(append(append(raw, `,"thoughtSignature":"`...), k.signature...), '"')
	}
	return e.put(dst, c, part{kind: otherPart, body: append(raw, '}')})
}

// appendArguments writes the arguments, which must be an object. Free text of a custom tool becomes the one member of one.
// Text that is no object, as of a call that the token limit cut short, is kept in one as it is.
func (k *call) appendArguments(dst []byte) []byte {
	if k.custom {
		return append(append(append(dst, `{"input":"`...), k.input...), `"}`...)
	}
	input, err := jsonspan.AppendUnescape(nil, k.input)
	if err == nil {
		input = bytes.TrimSpace(input)
	}
	switch {
	case err == nil && (len(input) == 0 || string(input) == "null"):
		return append(dst, "{}"...)
	case err == nil && input[0] == '{' && jsonspan.Valid(input, jsonspan.Limits{AllowDuplicates: true}) == nil:
		return dialect.AppendLine(dst, input)
	}
	return append(append(append(dst, `{"INVALID_JSON":"`...), k.input...), `"}`...)
}

// cite keeps a source on the web, which is told at the end. Other citations have no form here.
func (e *encoder) cite(c *candidate, v sdk.Value) {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return
	}
	from, nested := member(&doc, 0, "url_citation") // as chat completions have it
	if !nested {
		from = 0
	}
	url, ok := member(&doc, from, "url")
	if !ok || doc.Kind(url) != jsonspan.String || !e.keep(len(v.Raw())) {
		return
	}
	c.sources = append(append(comma(c.sources), `{"web":{"uri":`...), doc.Raw(url)...)
	if title, ok := member(&doc, from, "title"); ok && doc.Kind(title) == jsonspan.String {
		c.sources = append(append(c.sources, `,"title":`...), doc.Raw(title)...)
	}
	c.sources = append(c.sources, "}}"...)
}

// score writes log probabilities, which come as chat completions have them, as logprobsResult: in a chunk of their own, or
// with the whole answer.
func (e *encoder) score(dst []byte, c *candidate, v sdk.Value) []byte {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dst
	}
	list, _ := member(&doc, 0, "content")
	if doc.Len(list) == 0 || doc.Kind(list) != jsonspan.Array {
		return dst
	}
	var chosen, top []byte
	for i := range doc.Items(list) {
		chosen = appendToken(comma(chosen), &doc, i)
		top = append(comma(top), `{"candidates":[`...)
		if others, ok := member(&doc, i, "top_logprobs"); ok {
			n := 0
			for o := range doc.Items(others) {
				if n++; n > 1 {
					top = append(top, ',')
				}
				top = appendToken(top, &doc, o)
			}
		}
		top = append(top, "]}"...)
	}
	if e.whole {
		c.chosen, c.top = append(comma(c.chosen), chosen...), append(comma(c.top), top...)
		return dst
	}
	dst = append(e.begin(dst), `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":`...)
	dst = append(strconv.AppendInt(dst, int64(c.index), 10), ',')
	return e.end(append(c.appendScores(dst, chosen, top), "}],"...))
}

func (c *candidate) appendScores(dst, chosen, top []byte) []byte {
	dst = append(append(dst, `"logprobsResult":{"chosenCandidates":[`...), chosen...)
	return append(append(append(dst, `],"topCandidates":[`...), top...), "]}"...)
}

// appendToken writes a token and its log probability, whose number keeps its text.
func appendToken(dst []byte, doc *jsonspan.Doc, i int) []byte {
	dst = append(dst, `{"token":`...)
	if t, ok := member(doc, i, "token"); ok {
		dst = append(dst, doc.Raw(t)...)
	} else {
		dst = append(dst, `""`...)
	}
	if p, ok := member(doc, i, "logprob"); ok {
		dst = append(append(dst, `,"logProbability":`...), doc.Raw(p)...)
	}
	return append(dst, '}')
}
