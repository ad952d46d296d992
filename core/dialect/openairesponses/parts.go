package openairesponses

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// content reads what an item holds: one text, or parts.
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

func (r *decoder) part(p int) (part sdk.Part) {
	switch t := r.Get(p, "type"); {
	case t == 0:
		r.Missing(p, "type")
	case r.Is(t, "input_text"), r.Is(t, "output_text"), r.Is(t, "text"):
		part.Kind, part.Text = sdk.PartText, r.Content(r.needed(p, "text"))
	case r.Is(t, "refusal"):
		part.Kind, part.Text = sdk.PartRefusal, r.Content(r.needed(p, "refusal"))
	case r.Is(t, "input_image"):
		part.Kind, part.Media = sdk.PartImage, r.image(p)
	case r.Is(t, "input_audio"):
		part.Kind, part.Media = sdk.PartAudio, r.audio(r.needed(p, "input_audio"))
	case r.Is(t, "input_file"):
		part.Kind, part.Media = r.file(p)
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

func (r *decoder) image(p int) *sdk.Media {
	m := &sdk.Media{FileID: r.Content(r.Get(p, "file_id")), Detail: r.Word(r.Get(p, "detail"))}
	url := r.Get(p, "image_url")
	if url == 0 && !m.FileID.Present() {
		r.Refuse(p, "want image_url or file_id")
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

// file reads a file: uploaded, at a URL, or sent along as a data: URL or as bare base64. An image that is sent as a file
// is an image.
func (r *decoder) file(p int) (sdk.PartKind, *sdk.Media) {
	m := &sdk.Media{Name: r.Content(r.Get(p, "filename")), FileID: r.Content(r.Get(p, "file_id"))}
	sent, url := r.Get(p, "file_data"), r.Get(p, "file_url")
	switch data := r.Content(sent); {
	case data.HasPrefix("data:"):
		r.Locate(m, sent)
	case data.Present():
		m.Data = data
	case url > 0:
		r.Locate(m, url)
	case !m.FileID.Present():
		r.Refuse(p, "want file_data, file_url or file_id")
	}
	dialect.Settle(m)
	if strings.HasPrefix(m.MIME, "image/") {
		return sdk.PartImage, m
	}
	return sdk.PartDocument, m
}
