package gemini

import (
	"errors"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// part reads a part of candidate i.
func (d *decoder) part(i int, p sdk.Node, out *sdk.Events) error {
	if call := p.Get("functionCall"); call.Exists() {
		return d.call(i, call, p.Get("thoughtSignature").Text(), out)
	}
	if text := p.Get("text").Text(); text.Present() {
		if p.Get("thought").True() {
			out.Thinking(i, text)
		} else {
			out.Text(i, text)
		}
		return nil
	}
	if data := p.Get("inlineData"); strings.HasPrefix(data.Get("mimeType").Str(), "image/") {
		e := out.Add(sdk.Image)
		e.Choice, e.Type, e.Text = i, strings.Clone(data.Get("mimeType").Str()), data.Get("data").Text()
		return nil
	}
	for _, kind := range [...]string{"inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
		if p.Get(kind).Exists() {
			e := out.Add(sdk.Foreign)
			e.Choice, e.Type, e.Value = i, kind, p.Value()
		}
	}
	return nil
}

// call reads a call, which comes whole: its arguments are streamed only to those who ask for it, and Encode does not.
func (d *decoder) call(i int, call sdk.Node, signature sdk.Text, out *sdk.Events) error {
	if call.Get("partialArgs").Exists() || call.Get("willContinue").True() {
		return errors.New("functionCall in pieces: want it whole")
	}
	c := &d.candidates[i]
	id, signed := writeID(call.Get("id").Str(), d.answer, d.calls, signature)
	d.calls++
	e := out.Add(sdk.ToolBegin)
	e.Choice, e.Call, e.ID, e.Name = i, c.calls, id, call.Get("name").Text()
	if !signed {
		e := out.Add(sdk.Signature)
		e.Choice, e.Call, e.Text = i, c.calls, signature
	}
	if args := call.Get("args"); args.Len() > 0 {
		e := out.Add(sdk.ToolInput)
		e.Choice, e.Call, e.Text = i, c.calls, args.Value().Text()
	}
	e = out.Add(sdk.ToolEnd)
	e.Choice, e.Call = i, c.calls
	c.calls++
	return nil
}

// citations tells the sources on the web that candidate i leans on, each once, in the form of a search result's citation
// (https://ai.google.dev/gemini-api/docs/google-search, groundingMetadata). Ranges are left out: they count bytes of the
// whole text, and each client dialect counts otherwise.
func (d *decoder) citations(i int, candidate sdk.Node, out *sdk.Events) {
	grounding := candidate.Get("groundingMetadata")
	chunk := int64(0)
	for c := range grounding.Get("groundingChunks").Items() {
		web := c.Get("web")
		uri, title := web.Get("uri"), web.Get("title")
		cited := quoted(grounding, chunk)
		chunk++
		key := strconv.Itoa(i) + " " + uri.Str()
		if uri.Str() == "" || d.cited[key] || len(d.cited) == maxCitations {
			continue
		}
		if d.cited == nil {
			d.cited = make(map[string]bool)
		}
		d.cited[key] = true
		var w sdk.Writer
		w.Object()
		w.Name("type").String("web_search_result_location")
		w.Name("url").String(uri.Str())
		w.Name("title").String(title.Str())
		w.Name("cited_text").String(cited)
		w.Name("encrypted_index").String("")
		w.EndObject()
		e := out.Add(sdk.Citation)
		e.Choice, e.Value = i, sdk.RawValue(w.Bytes())
	}
}

// quoted gives the first piece of the answer that leans on a source; "" where none is named or it is not seen whole.
func quoted(grounding sdk.Node, chunk int64) string {
	for s := range grounding.Get("groundingSupports").Items() {
		for n := range s.Get("groundingChunkIndices").Items() {
			if n.Int() == chunk {
				return s.At("segment", "text").Str()
			}
		}
	}
	return ""
}
