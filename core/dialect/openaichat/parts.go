package openaichat

import (
	"path"
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
	case r.Is(t, "text"):
		part.Kind, part.Text = sdk.PartText, r.Content(r.needed(p, "text"))
	case r.Is(t, "image_url"):
		part.Kind, part.Media = sdk.PartImage, r.image(r.needed(p, "image_url"))
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

// image reads {url, detail}, or the bare URL that some clients send.
func (r *decoder) image(v int) *sdk.Media {
	m := new(sdk.Media)
	url := v
	if r.Kind(v) == jsonspan.Object {
		if url = r.needed(v, "url"); url == 0 {
			return m
		}
		m.Detail = r.Word(r.Get(v, "detail"))
	}
	r.locate(m, r.Content(url))
	return m
}

// locate sets where a medium is: in the request as base64, or at a URL.
func (r *decoder) locate(m *sdk.Media, url sdk.Text) {
	if mime, data, ok := dialect.SplitDataURL(url.Raw()); ok {
		m.MIME, m.Data = mime, sdk.RawText(data)
		return
	}
	m.URL = url
}

func (r *decoder) audio(v int) *sdk.Media {
	m := &sdk.Media{Data: r.Content(r.needed(v, "data"))}
	if f := r.Word(r.Get(v, "format")); f != "" {
		m.MIME = dialect.MediaType("audio/" + f)
	}
	return m
}

// file reads an uploaded file by its id, or one that is sent along: as a data: URL, or as bare base64 or a URL, which
// services that are compatible take too. An image that is sent as a file is an image.
func (r *decoder) file(v int) (sdk.PartKind, *sdk.Media) {
	m := &sdk.Media{Name: r.Content(r.Get(v, "filename")), FileID: r.Content(r.Get(v, "file_id"))}
	data := r.Content(r.Get(v, "file_data"))
	switch {
	case data.HasPrefix("data:"), data.HasPrefix("http://"), data.HasPrefix("https://"), data.HasPrefix(`https:\/\/`):
		r.locate(m, data)
	case data.Present():
		m.Data = data
	case !m.FileID.Present() && v > 0:
		r.Refuse(v, "want file_data or file_id")
	}
	if m.MIME == "" {
		name, _ := m.Name.Decoded()
		m.MIME = byExtension(name)
	}
	if strings.HasPrefix(m.MIME, "image/") {
		return sdk.PartImage, m
	}
	return sdk.PartDocument, m
}

// byExtension is the media type of the files that models read; "" for others.
func byExtension(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".pdf":
		return "application/pdf"
	case ".txt", ".md":
		return "text/plain"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	}
	return ""
}
