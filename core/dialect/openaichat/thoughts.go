package openaichat

import (
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

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
