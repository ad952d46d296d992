package anthropic

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// system reads the top-level system text, which becomes the first message.
func (r *decoder) system(v int) {
	parts := r.content(v)
	if len(parts) == 1 && parts[0].Kind == sdk.PartText && parts[0].Text.Empty() {
		return // system: "" says nothing
	}
	if len(parts) > 0 {
		place(parts, "system", 0)
		r.req.Messages = append(r.req.Messages, sdk.Message{Role: sdk.System, Parts: parts, Path: "system"})
	}
}

func (r *decoder) messages(v int) {
	if !r.Array(v) {
		return
	}
	if r.Len(v) == 0 {
		r.Refuse(v, "want at least one message")
	}
	n := 0
	for m := range r.Items(v) {
		if r.Object(m) {
			r.message(m, "messages["+strconv.Itoa(n)+"]")
		}
		n++
	}
}

func (r *decoder) message(m int, path string) {
	msg := sdk.Message{Path: path}
	switch role := r.needed(m, "role"); {
	case r.Is(role, "user"):
		msg.Role = sdk.User
	case r.Is(role, "assistant"):
		msg.Role = sdk.Assistant
	case r.Is(role, "system"):
		msg.Role = sdk.System
	case role > 0:
		r.Want(role, `"user", "assistant" or "system"`)
	}
	if c := r.needed(m, "content"); c > 0 {
		msg.Parts = r.content(c)
	}
	r.rest(m, "role", "content")
	r.split(msg)
}

// split adds a message, with its tool results apart: in the middle form they are in messages of their own.
func (r *decoder) split(msg sdk.Message) {
	parts := msg.Parts
	from := 0
	for i := 1; i <= len(parts); i++ {
		if i < len(parts) && (parts[i].Kind == sdk.PartResult) == (parts[from].Kind == sdk.PartResult) {
			continue
		}
		m := msg
		m.Parts = parts[from:i:i]
		if parts[from].Kind == sdk.PartResult {
			m.Role = sdk.Tooling
		}
		if from > 0 {
			place(m.Parts, msg.Path+".content", from)
		}
		r.req.Messages = append(r.req.Messages, m)
		from = i
	}
	if len(parts) == 0 {
		r.req.Messages = append(r.req.Messages, msg)
	}
}

// place tells parts where they are in the client's list, of which they are the items from first on.
func place(parts []sdk.Part, list string, first int) {
	for i := range parts {
		parts[i].Path = list + "[" + strconv.Itoa(first+i) + "]"
	}
}

// content reads what a message or a tool result holds: one text, or blocks.
func (r *decoder) content(v int) []sdk.Part {
	switch r.Kind(v) {
	case jsonspan.String:
		return []sdk.Part{{Kind: sdk.PartText, Text: r.Content(v)}}
	case jsonspan.Array:
	default:
		r.Want(v, "a string or a list of blocks")
		return nil
	}
	parts := make([]sdk.Part, 0, r.Len(v))
	for b := range r.Items(v) {
		if r.Object(b) {
			parts = append(parts, r.block(b))
		}
	}
	return parts
}

func (r *decoder) block(b int) sdk.Part {
	p := sdk.Part{Cache: r.Value(r.Get(b, "cache_control"))}
	switch t := r.needed(b, "type"); {
	case r.Is(t, "text"):
		p.Kind, p.Text = sdk.PartText, r.Content(r.needed(b, "text"))
		if c := r.Get(b, "citations"); c > 0 && r.Len(c) > 0 {
			p.Value = r.Value(c)
		}
	case r.Is(t, "image"):
		p.Kind, p.Media = sdk.PartImage, r.source(r.needed(b, "source"))
	case r.Is(t, "document"):
		p.Kind, p.Media = sdk.PartDocument, r.document(b)
	case r.Is(t, "thinking"):
		p.Kind, p.Text = sdk.PartThinking, r.Content(r.needed(b, "thinking"))
		if s := r.Content(r.Get(b, "signature")); !s.Empty() {
			p.Signature = s // "" is what a gateway gives thoughts that nobody signed
		}
	case r.Is(t, "redacted_thinking"):
		p.Kind, p.Text = sdk.PartRedacted, r.Content(r.needed(b, "data"))
	case r.Is(t, "tool_use"):
		p.Kind, p.Call = sdk.PartCall, r.call(b)
	case r.Is(t, "tool_result"):
		p.Kind, p.Result = sdk.PartResult, r.result(b)
	case t > 0:
		p.Kind, p.Type, p.Value = sdk.PartForeign, r.Word(t), r.Value(b)
	}
	return p
}

func (r *decoder) call(b int) *sdk.Call {
	c := &sdk.Call{ID: r.Content(r.needed(b, "id")), Name: r.Content(r.needed(b, "name"))}
	if input := r.needed(b, "input"); input > 0 && r.Object(input) {
		c.Arguments = r.Value(input)
	}
	r.rest(b, "type", "id", "name", "input", "cache_control", "caller")
	if caller := r.Get(b, "caller"); caller > 0 && !r.Is(r.Get(caller, "type"), "direct") {
		r.unknown(caller) // code of a server tool made the call
	}
	return c
}

func (r *decoder) result(b int) *sdk.Result {
	res := &sdk.Result{ID: r.Content(r.needed(b, "tool_use_id")), Error: r.Truth(r.Get(b, "is_error"))}
	if c := r.Get(b, "content"); c > 0 {
		res.Parts = r.content(c)
	}
	r.rest(b, "type", "tool_use_id", "content", "is_error", "cache_control")
	return res
}

func (r *decoder) document(b int) *sdk.Media {
	m := r.source(r.needed(b, "source"))
	m.Title, m.Context = r.Content(r.Get(b, "title")), r.Content(r.Get(b, "context"))
	m.Citations = r.Value(r.Get(b, "citations"))
	return m
}

// source reads where a medium is.
func (r *decoder) source(s int) *sdk.Media {
	m := &sdk.Media{}
	if !r.Object(s) {
		return m
	}
	if mime := r.Get(s, "media_type"); mime > 0 {
		m.MIME = dialect.MediaType(r.Word(mime))
	}
	switch t := r.needed(s, "type"); {
	case r.Is(t, "base64"):
		m.Data = r.Content(r.needed(s, "data"))
	case r.Is(t, "text"):
		m.Body = r.Content(r.needed(s, "data"))
	case r.Is(t, "url"):
		r.Locate(m, r.needed(s, "url"))
	case r.Is(t, "file"):
		m.FileID = r.Content(r.needed(s, "file_id"))
	case r.Is(t, "content"):
		m.Parts = r.content(r.needed(s, "content"))
	case t > 0:
		r.unknown(s)
	}
	dialect.Settle(m)
	return m
}
