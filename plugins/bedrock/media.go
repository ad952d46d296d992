package bedrock

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// formats are the types of media that Converse takes, with its words for them
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html, API_runtime_DocumentBlock.html).
var formats = [...]struct{ mime, format string }{
	{"image/png", "png"}, {"image/jpeg", "jpeg"}, {"image/jpg", "jpeg"}, {"image/gif", "gif"}, {"image/webp", "webp"},
	{"application/pdf", "pdf"}, {"text/csv", "csv"}, {"text/html", "html"}, {"text/plain", "txt"}, {"text/markdown", "md"},
	{"application/msword", "doc"}, {"application/vnd.ms-excel", "xls"},
	{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
	{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
}

// starts are the beginnings of base64 content that tell its format.
var starts = [...]struct{ base64, format string }{
	{"/9j/", "jpeg"}, {"iVBORw0KGgo", "png"}, {"R0lGOD", "gif"}, {"UklGR", "webp"}, {"JVBERi", "pdf"},
}

func formatOf(m *sdk.Media) string {
	for _, f := range formats {
		if f.mime == m.MIME {
			return f.format
		}
	}
	if m.MIME != "" {
		return ""
	}
	for _, s := range starts {
		if m.Data.HasPrefix(s.base64) {
			return s.format
		}
	}
	return ""
}

// media writes an image or a document, which stand inline: Converse fetches nothing from the web, and neither does the
// gateway.
func (e *encoding) media(b block) error {
	m := b.Media
	what := "a document"
	if b.Kind == sdk.PartImage {
		what = "an image"
	}
	switch {
	case m == nil:
		return &sdk.Invalid{Path: b.path, Message: "want content"}
	case b.Kind == sdk.PartDocument && (m.Body.Present() || len(m.Parts) > 0):
		return e.document(b, m, "txt")
	case !m.Data.Present():
		return &sdk.Inexpressible{What: what + " by its address", Path: b.path}
	}
	format := formatOf(m)
	image := format == "png" || format == "jpeg" || format == "gif" || format == "webp"
	if format == "" || image != (b.Kind == sdk.PartImage) {
		return &sdk.Inexpressible{What: what + " of type " + m.MIME, Path: b.path}
	}
	if !image {
		return e.document(b, m, format)
	}
	e.w.Object()
	e.w.Name("image").Object()
	e.w.Name("format").String(format)
	e.w.Name("source").Object()
	e.w.Name("bytes").Text(m.Data)
	for range 3 {
		e.w.EndObject()
	}
	return nil
}

func (e *encoding) document(b block, m *sdk.Media, format string) error {
	e.documents++
	e.w.Object()
	e.w.Name("document").Object()
	e.w.Name("format").String(format)
	e.w.Name("name").String(e.documentName(m))
	e.w.Name("source").Object()
	switch {
	case m.Body.Present():
		e.w.Name("text").Text(m.Body)
	case m.Data.Present():
		e.w.Name("bytes").Text(m.Data)
	default:
		e.w.Name("content").Array()
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == sdk.PartText {
				e.text(p.Text)
			} else {
				e.plan.Lose(sdk.PartPath(b.path+".source", m.Parts, i), "a document is made of text")
			}
		}
		e.w.EndArray()
	}
	e.w.EndObject()
	if !m.Context.Empty() {
		e.w.Name("context").Text(m.Context)
	}
	e.w.ValueMember("citations", m.Citations)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// documentName makes a name of letters, digits and single spaces, with a number, since two documents of a conversation
// must not have the same.
func (e *encoding) documentName(m *sdk.Media) string {
	name, _ := m.Title.Decoded()
	if name == "" {
		name, _ = m.Name.Decoded()
	}
	words := strings.FieldsFunc(name, func(c rune) bool { return c > 0x7f || !letter(byte(c)) || c == '_' })
	words = append(words, strconv.Itoa(e.documents))
	if len(words) == 1 {
		words = append([]string{"document"}, words...)
	}
	return strings.Join(words, " ")
}
