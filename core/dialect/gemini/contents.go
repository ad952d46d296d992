package gemini

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func (r *decoder) contents(v int) {
	if !r.list(v) {
		return
	}
	if r.count(v) == 0 {
		r.Refuse(v, "want at least one content")
	}
	for c := range r.each(v) {
		if r.Object(c) {
			r.content(c)
		}
	}
}

// instruction reads systemInstruction, whose role says nothing.
func (r *decoder) instruction(v int) {
	msg := &sdk.Message{Role: sdk.System, Path: r.Path(v)}
	if r.Kind(v) == jsonspan.String {
		msg.Parts = []sdk.Part{{Kind: sdk.PartText, Text: r.Content(v)}}
		r.system = msg
		return
	}
	if !r.Object(v) {
		return
	}
	if parts := r.needed(v, "parts"); r.list(parts) {
		for p := range r.each(parts) {
			if r.Object(p) {
				msg.Parts = append(msg.Parts, r.part(p))
			}
		}
	}
	r.system = msg
}

// content reads a turn. Results of tools stand among what the user says; they become a message of their own, in their
// place.
func (r *decoder) content(c int) {
	said := sdk.User
	switch role := r.get(c, "role"); {
	case role == 0, r.Is(role, "user"), r.Is(role, "function"), r.Is(role, "tool"):
	case r.Is(role, "model"):
		said = sdk.Assistant
	default:
		r.Want(role, `"user" or "model"`)
	}
	parts := r.needed(c, "parts")
	if !r.list(parts) {
		return
	}
	path := r.Path(c)
	var msg *sdk.Message
	n := -1
	for p := range r.each(parts) {
		if n++; !r.Object(p) {
			continue
		}
		part, role := r.part(p), said
		if part.Kind == sdk.PartResult {
			role = sdk.Tooling
		}
		if msg == nil || msg.Role != role {
			r.req.Messages = append(r.req.Messages, sdk.Message{Role: role, Path: path})
			msg = &r.req.Messages[len(r.req.Messages)-1]
		}
		if n != len(msg.Parts) {
			part.Path = path + ".parts[" + strconv.Itoa(n) + "]"
		}
		msg.Parts = join(msg.Parts, part)
	}
	if msg == nil { // a turn without parts is a turn all the same
		r.req.Messages = append(r.req.Messages, sdk.Message{Role: said, Path: path})
	}
}

// join appends a part. A client that kept the pieces of a stream sends a thought as pieces: those up to its signature are
// one. An empty text beside others says nothing.
func join(parts []sdk.Part, p sdk.Part) []sdk.Part {
	n := len(parts) - 1
	if p.Kind == sdk.PartThinking && n >= 0 && parts[n].Kind == sdk.PartThinking && parts[n].Signature.Empty() {
		raw := append(append([]byte(nil), parts[n].Text.Raw()...), p.Text.Raw()...)
		parts[n].Text, parts[n].Signature = sdk.RawText(raw), p.Signature
		return parts
	}
	if n >= 0 && p.Kind == sdk.PartText && p.Text.Empty() {
		return parts
	}
	return append(parts, p)
}

// asked is a call of the history.
type asked struct {
	id       sdk.Text
	name     string
	answered bool
}

// call reads a functionCall. One without an id gets one, as every other dialect pairs calls and results by it.
func (r *decoder) call(v int) *sdk.Call {
	call := &sdk.Call{ID: r.Content(r.get(v, "id")), Name: r.Content(r.needed(v, "name")), Arguments: sdk.RawValue([]byte("{}"))}
	if args := r.get(v, "args"); r.Object(args) {
		call.Arguments = r.Value(args)
	}
	if call.ID.Empty() {
		call.ID = sdk.RawText([]byte("call_made_" + strconv.Itoa(len(r.calls))))
	}
	name, _ := call.Name.Decoded()
	r.calls = append(r.calls, asked{id: call.ID, name: name})
	return call
}

// answers gives the id of the call that a functionResponse answers: its own where a call has that, or else that of the
// first call of its function without an answer.
func (r *decoder) answers(v int, name sdk.Text) sdk.Text {
	id := r.Content(r.get(v, "id"))
	want, _ := name.Decoded()
	for i := range r.calls {
		if c := &r.calls[i]; !id.Empty() && string(c.id.Raw()) == string(id.Raw()) {
			c.answered = true
			return id
		}
	}
	for i := range r.calls {
		if c := &r.calls[i]; !c.answered && c.name == want {
			c.answered = true
			return c.id
		}
	}
	if id.Empty() {
		r.Refuse(v, "answers a function that no earlier content calls")
	}
	return id
}

// result reads a functionResponse. The reference proposes output and error as the members of what a function answers; any
// other object is given to the model as its JSON text.
func (r *decoder) result(v int) *sdk.Result {
	res := &sdk.Result{Name: r.Content(r.needed(v, "name"))}
	res.ID = r.answers(v, res.Name)
	if answer := r.get(v, "response"); r.Object(answer) {
		text := r.Value(answer).Text()
		if r.Len(answer) == 1 {
			for k, only := range r.Members(answer) {
				switch name := string(r.Name(k)); name {
				case "output", "result", "error":
					res.Error = name == "error"
					if r.Kind(only) == jsonspan.String {
						text = r.Content(only)
					} else {
						text = r.Value(only).Text()
					}
				}
			}
		}
		res.Parts = append(res.Parts, sdk.Part{Kind: sdk.PartText, Text: text})
	}
	if parts := r.get(v, "parts"); r.Array(parts) {
		for p := range r.Items(parts) {
			if r.Object(p) {
				res.Parts = append(res.Parts, r.part(p))
			}
		}
	}
	r.rest(v, "id", "name", "response", "parts")
	return res
}

// part reads a part: an object of which one member is what it holds, and the others say more about that.
func (r *decoder) part(p int) sdk.Part {
	signature := r.Content(r.get(p, "thoughtSignature"))
	if text := r.get(p, "text"); text > 0 {
		r.rest(p, "text", "thought", "thoughtSignature")
		return r.text(p, r.Content(text), signature)
	}
	for _, kind := range [...]string{"functionCall", "functionResponse", "inlineData", "fileData"} {
		v := r.get(p, kind)
		if !r.Object(v) {
			continue
		}
		r.rest(p, kind, "thought", "thoughtSignature")
		switch kind {
		case "functionCall":
			return sdk.Part{Kind: sdk.PartCall, Call: r.call(v), Signature: signature}
		case "functionResponse":
			return sdk.Part{Kind: sdk.PartResult, Result: r.result(v)}
		}
		return r.media(p, kind, v)
	}
	if r.Kind(r.get(p, "thought")) == jsonspan.True && !signature.Empty() { // a thought that only its provider can read
		return sdk.Part{Kind: sdk.PartRedacted, Text: signature}
	}
	for k := range r.Members(p) {
		return sdk.Part{Kind: sdk.PartForeign, Type: string(r.named(k)), Value: r.Value(p)}
	}
	r.Refuse(p, "want a part that holds something")
	return sdk.Part{}
}

func (r *decoder) text(p int, text, signature sdk.Text) sdk.Part {
	if r.Kind(r.get(p, "thought")) == jsonspan.True {
		return sdk.Part{Kind: sdk.PartThinking, Text: text, Signature: signature}
	}
	return sdk.Part{Kind: sdk.PartText, Text: text, Signature: signature}
}

// media reads inlineData or fileData. What is neither a picture, nor sound, nor a film, nor a document has no place in the
// middle form.
func (r *decoder) media(p int, kind string, v int) sdk.Part {
	m := &sdk.Media{MIME: dialect.MediaType(strings.ToLower(r.Word(r.get(v, "mimeType")))), Name: r.Content(r.get(v, "displayName"))}
	if kind == "inlineData" {
		m.Data = r.Content(r.needed(v, "data"))
	} else {
		m.URL = r.Content(r.needed(v, "fileUri"))
	}
	dialect.Settle(m)
	part := sdk.Part{Media: m}
	switch family, _, _ := strings.Cut(m.MIME, "/"); family {
	case "image":
		part.Kind = sdk.PartImage
	case "audio":
		part.Kind = sdk.PartAudio
	case "video":
		part.Kind = sdk.PartVideo
	case "application", "text":
		part.Kind = sdk.PartDocument
	default:
		return sdk.Part{Kind: sdk.PartForeign, Type: kind, Value: r.Value(p)}
	}
	return part
}
