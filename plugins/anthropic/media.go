package anthropic

import (
	"github.com/penstock-gateway/penstock/sdk"
)

// media writes an image or a document. A remote one stays a URL: the provider fetches it, the gateway never does.
func (e *encoding) media(b block) error {
	m := b.Media
	if m == nil {
		return &sdk.Invalid{Path: b.path, Message: "want content"}
	}
	if b.Kind == sdk.PartImage {
		return e.image(b, m)
	}
	return e.document(b, m)
}

func (e *encoding) image(b block, m *sdk.Media) error {
	mime := imageType(m)
	switch {
	case m.URL.Present():
	case !m.Data.Present():
		return &sdk.Inexpressible{What: "an image by another provider's file id", Path: b.path}
	case mime == "":
		return &sdk.Inexpressible{What: "an image of type " + m.MIME, Path: b.path}
	}
	e.w.Object()
	e.w.Name("type").String("image")
	if m.URL.Present() {
		e.source("url", "", "url", m.URL)
	} else {
		e.source("base64", mime, "data", m.Data)
	}
	e.mark(&b.Part.Cache)
	e.w.EndObject()
	return nil
}

// imageType gives the media type where it is one of those that the API takes, "" otherwise
// (https://platform.claude.com/docs/en/build-with-claude/vision). Where the client did not say, the first bytes tell.
func imageType(m *sdk.Media) string {
	switch m.MIME {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return m.MIME
	case "image/jpg":
		return "image/jpeg"
	case "":
		switch {
		case m.Data.HasPrefix("/9j/"):
			return "image/jpeg"
		case m.Data.HasPrefix("iVBORw0KGgo"):
			return "image/png"
		case m.Data.HasPrefix("R0lGOD"):
			return "image/gif"
		case m.Data.HasPrefix("UklGR"):
			return "image/webp"
		}
	}
	return ""
}

func (e *encoding) source(kind, mime, member string, content sdk.Text) {
	e.w.Name("source").Object()
	e.w.Name("type").String(kind)
	e.w.StringMember("media_type", mime)
	e.w.Name(member).Text(content)
	e.w.EndObject()
}

func (e *encoding) document(b block, m *sdk.Media) error {
	pdf := m.Data.Present() && (m.MIME == "application/pdf" || m.MIME == "" && m.Data.HasPrefix("JVBERi"))
	switch {
	case m.Body.Present(), pdf, m.URL.Present(), len(m.Parts) > 0:
	case m.Data.Present():
		return &sdk.Inexpressible{What: "a document of type " + m.MIME, Path: b.path}
	default:
		return &sdk.Inexpressible{What: "a document by another provider's file id", Path: b.path}
	}
	e.w.Object()
	e.w.Name("type").String("document")
	switch {
	case m.Body.Present():
		e.source("text", "text/plain", "data", m.Body)
	case pdf:
		e.source("base64", "application/pdf", "data", m.Data)
	case m.URL.Present():
		e.source("url", "", "url", m.URL)
	default:
		if err := e.content(b, m); err != nil {
			return err
		}
	}
	switch {
	case !m.Title.Empty():
		e.w.Name("title").Text(m.Title)
	case !m.Name.Empty():
		e.w.Name("title").Text(m.Name)
	}
	if !m.Context.Empty() {
		e.w.Name("context").Text(m.Context)
	}
	e.w.ValueMember("citations", m.Citations)
	e.mark(&b.Part.Cache)
	e.w.EndObject()
	return nil
}

// content writes a document that is made of parts.
func (e *encoding) content(b block, m *sdk.Media) error {
	e.w.Name("source").Object()
	e.w.Name("type").String("content")
	e.w.Name("content").Array()
	for i := range m.Parts {
		if err := e.block(block{&m.Parts[i], sdk.PartPath(b.path+".source", m.Parts, i)}, false); err != nil {
			return err
		}
	}
	e.w.EndArray()
	e.w.EndObject()
	return nil
}
