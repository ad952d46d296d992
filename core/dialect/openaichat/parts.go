package openaichat

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// content reads what a message holds: one text, or parts.
func (r *decoder) content(v int) []sdk.Part {
	switch r.Kind(v) {
	case jsonspan.String:
		return []sdk.Part{{Kind: sdk.PartText, Text: r.Content(v)}}
	case jsonspan.Array:
	default:
		r.Want(v, "a string or a list of parts")
		return nil
	}
	parts := make([]sdk.Part, 0, r.Len(v))
	for p := range r.Items(v) {
		if r.Object(p) {
			parts = append(parts, r.part(p))
		}
	}
	return parts
}

func (r *decoder) part(p int) sdk.Part {
	part := sdk.Part{Cache: r.Value(r.Get(p, "cache_control"))}
	switch t := r.Get(p, "type"); {
	case t == 0:
		r.Missing(p, "type")
	case r.Is(t, "text"), r.Is(t, "input_text"), r.Is(t, "output_text"): // as responses have it: some clients mix the two up
		part.Kind, part.Text = sdk.PartText, r.Content(r.needed(p, "text"))
	case r.Is(t, "image_url"), r.Is(t, "input_image"):
		part.Kind, part.Media = sdk.PartImage, r.image(r.needed(p, "image_url"))
	case r.Is(t, "video_url"): // OpenRouter and vLLM
		part.Kind, part.Media = sdk.PartVideo, r.image(r.needed(p, "video_url"))
	case r.Is(t, "input_audio"):
		part.Kind, part.Media = sdk.PartAudio, r.audio(r.needed(p, "input_audio"))
	case r.Is(t, "file"):
		part.Kind, part.Media = r.file(r.needed(p, "file"))
	case r.Is(t, "document_url"): // Mistral
		part.Kind, part.Media = sdk.PartDocument, &sdk.Media{URL: r.Content(r.needed(p, "document_url")), Name: r.Content(r.Get(p, "document_name"))}
	case r.Is(t, "refusal"):
		part.Kind, part.Text = sdk.PartRefusal, r.Content(r.needed(p, "refusal"))
	case r.Is(t, "thinking"):
		part.Kind, part.Text, part.Signature = sdk.PartThinking, r.thinkingPart(p), r.signature(p)
	default:
		part.Kind, part.Type, part.Value = sdk.PartForeign, r.Word(t), r.Value(p)
	}
	return part
}

// needed gives a member that must be there.
func (r *decoder) needed(obj int, name string) int {
	v := r.Get(obj, name)
	if v == 0 {
		r.Missing(obj, name)
	}
	return v
}

// image reads {url, detail}, of an image or a film, or the bare URL that some clients send.
func (r *decoder) image(v int) *sdk.Media {
	m := new(sdk.Media)
	url := v
	if r.Kind(v) == jsonspan.Object {
		if url = r.needed(v, "url"); url == 0 {
			return m
		}
		m.Detail = r.Word(r.Get(v, "detail"))
	}
	r.Locate(m, url)
	dialect.Settle(m)
	return m
}

func (r *decoder) audio(v int) *sdk.Media {
	m := &sdk.Media{Data: r.Content(r.needed(v, "data"))}
	if f := r.Word(r.Get(v, "format")); f != "" {
		m.MIME = dialect.MediaType("audio/" + f)
	}
	return m
}

// file reads an uploaded file by its id, or one that is sent along: as a data: URL, or as bare base64 or a URL, which
// services that are compatible take too. An image that is sent as a file is an image, and so is a film.
func (r *decoder) file(v int) (sdk.PartKind, *sdk.Media) {
	m := &sdk.Media{Name: r.Content(r.Get(v, "filename")), FileID: r.Content(r.Get(v, "file_id"))}
	sent := r.Get(v, "file_data")
	switch data := r.Content(sent); {
	case data.HasPrefix("data:"), data.HasPrefix("http://"), data.HasPrefix("https://"), data.HasPrefix(`https:\/\/`):
		r.Locate(m, sent)
	case data.Present():
		m.Data = data
	case !m.FileID.Present() && v > 0:
		r.Refuse(v, "want file_data or file_id")
	}
	dialect.Settle(m)
	switch family, _, _ := strings.Cut(m.MIME, "/"); family {
	case "image":
		return sdk.PartImage, m
	case "video":
		return sdk.PartVideo, m
	}
	return sdk.PartDocument, m
}

// thoughts reads the reasoning that a client echoes. The dialect has no form of its own for it; of those in use the one
// that carries most counts: OpenRouter's reasoning_details and LiteLLM's thinking_blocks have signatures, DeepSeek's
// reasoning_content and reasoning are text alone.
func (r *decoder) thoughts(m int) []sdk.Part {
	if d := r.Get(m, "reasoning_details"); r.Kind(d) == jsonspan.Array && r.Len(d) > 0 {
		if parts := r.details(d); len(parts) > 0 {
			return r.withText(parts, m)
		}
	}
	if b := r.Get(m, "thinking_blocks"); r.Kind(b) == jsonspan.Array && r.Len(b) > 0 {
		return r.blocks(b)
	}
	if t := r.plainThought(m); !t.Empty() {
		return []sdk.Part{{Kind: sdk.PartThinking, Text: t}}
	}
	return nil
}

func (r *decoder) plainThought(m int) sdk.Text {
	for _, name := range [...]string{"reasoning_content", "reasoning"} {
		if v := r.Get(m, name); r.Kind(v) == jsonspan.String && len(r.Inner(v)) > 0 {
			return r.Content(v)
		}
	}
	return sdk.Text{}
}

// withText gives a lone signature the text that the client kept beside it.
func (r *decoder) withText(parts []sdk.Part, m int) []sdk.Part {
	if len(parts) == 1 && parts[0].Kind == sdk.PartThinking && parts[0].Text.Empty() {
		if t := r.plainThought(m); !t.Empty() {
			parts[0].Text = t
		}
	}
	return parts
}

// details reads reasoning_details. A client that only collected the pieces of a stream sends them as pieces: those of
// one index that follow each other are one thought, up to its signature.
func (r *decoder) details(list int) []sdk.Part {
	var parts []sdk.Part
	last := sdk.Value{} // the index of the thought that may still grow
	for d := range r.Items(list) {
		if r.Kind(d) != jsonspan.Object {
			r.Want(d, "an object")
			return nil
		}
		t := r.Get(d, "type")
		if r.Is(t, "reasoning.encrypted") {
			if data := r.Content(r.Get(d, "data")); !data.Empty() {
				// Whose secret it is stands in format; Type tells the provider that must not send it to another.
				parts = append(parts, sdk.Part{Kind: sdk.PartRedacted, Text: data, Type: r.Word(r.Get(d, "format"))})
			}
			last = sdk.Value{}
			continue
		}
		p := sdk.Part{Kind: sdk.PartThinking, Text: r.Content(r.Get(d, "text")), Signature: r.signature(d)}
		if r.Is(t, "reasoning.summary") {
			p.Text = r.Content(r.Get(d, "summary"))
		}
		index := r.Value(r.Get(d, "index"))
		if n := len(parts) - 1; last.Present() && string(index.Raw()) == string(last.Raw()) && !parts[n].Signature.Present() {
			parts[n].Text, parts[n].Signature = joined(parts[n].Text, p.Text), p.Signature
		} else if !p.Text.Empty() || p.Signature.Present() {
			parts = append(parts, p)
			last = index
		}
	}
	return parts
}

// signature gives a signature that is not empty.
func (r *decoder) signature(v int) sdk.Text {
	if s := r.Content(r.Get(v, "signature")); !s.Empty() {
		return s
	}
	return sdk.Text{}
}

func joined(a, b sdk.Text) sdk.Text {
	switch {
	case b.Empty():
		return a
	case a.Empty():
		return b
	}
	raw := make([]byte, 0, a.Len()+b.Len())
	return sdk.RawText(append(append(raw, a.Raw()...), b.Raw()...))
}

// blocks reads thinking_blocks: Anthropic's blocks in a message of this dialect.
func (r *decoder) blocks(list int) []sdk.Part {
	var parts []sdk.Part
	for b := range r.Items(list) {
		switch t := r.Get(b, "type"); {
		case r.Is(t, "redacted_thinking"):
			parts = append(parts, sdk.Part{Kind: sdk.PartRedacted, Text: r.Content(r.Get(b, "data"))})
		case r.Is(t, "thinking"):
			parts = append(parts, sdk.Part{Kind: sdk.PartThinking, Text: r.Content(r.Get(b, "thinking")), Signature: r.signature(b)})
		}
	}
	return parts
}

// thinkingPart reads Mistral's part: its text is a list of text parts.
func (r *decoder) thinkingPart(p int) sdk.Text {
	v := r.Get(p, "thinking")
	if r.Kind(v) != jsonspan.Array {
		return r.Content(v)
	}
	var text sdk.Text
	for t := range r.Items(v) {
		text = joined(text, r.Content(r.Get(t, "text")))
	}
	return text
}
