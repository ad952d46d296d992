package openai

import (
	"github.com/penstock-gateway/penstock/sdk"
)

// media writes an image, a sound or a document. A remote image stays a URL: the provider fetches it, the gateway never
// does.
func (e *encoding) media(p piece) error {
	m := p.Media
	if m == nil {
		return &sdk.Invalid{Path: p.path, Message: "want content"}
	}
	switch p.Kind {
	case sdk.PartImage:
		return e.image(m, p.path)
	case sdk.PartAudio:
		return e.audio(m, p.path)
	case sdk.PartVideo:
		return e.video(m, p.path)
	}
	return e.document(m, p.path)
}

// video writes a film for the services that take one
// (https://openrouter.ai/docs/guides/overview/multimodal/videos, https://docs.vllm.ai/en/latest/features/multimodal_inputs.html).
func (e *encoding) video(m *sdk.Media, path string) error {
	url := imageURL(m)
	if !e.films || url == nil {
		return &sdk.Inexpressible{What: "video input", Path: path}
	}
	e.w.Object()
	e.w.Name("type").String("video_url")
	e.w.Name("video_url").Object()
	e.w.Name("url").Joined(url...)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

func (e *encoding) image(m *sdk.Media, path string) error {
	url := imageURL(m)
	if url == nil {
		return &sdk.Inexpressible{What: "an image by file id", Path: path}
	}
	e.w.Object()
	e.w.Name("type").String("image_url")
	e.w.Name("image_url").Object()
	e.w.Name("url").Joined(url...)
	e.w.StringMember("detail", m.Detail)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// imageURL is where an image is, as texts to be joined: its URL, or itself; nil where it is a file that was uploaded.
func imageURL(m *sdk.Media) []sdk.Text {
	switch {
	case m.URL.Present():
		return []sdk.Text{m.URL}
	case m.Data.Present():
		return []sdk.Text{sdk.T("data:" + imageType(m) + ";base64,"), m.Data}
	}
	return nil
}

// imageType is the media type, read off the first bytes where the client did not say.
func imageType(m *sdk.Media) string {
	switch {
	case m.MIME != "":
		return m.MIME
	case m.Data.HasPrefix("/9j/"):
		return "image/jpeg"
	case m.Data.HasPrefix("R0lGOD"):
		return "image/gif"
	case m.Data.HasPrefix("UklGR"):
		return "image/webp"
	}
	return "image/png"
}

func (e *encoding) audio(m *sdk.Media, path string) error {
	format := ""
	switch m.MIME {
	case "audio/wav", "audio/x-wav", "audio/wave":
		format = "wav"
	case "audio/mp3", "audio/mpeg":
		format = "mp3"
	}
	if format == "" || !m.Data.Present() {
		return &sdk.Inexpressible{What: "audio that is not inline wav or mp3", Path: path}
	}
	e.w.Object()
	e.w.Name("type").String("input_audio")
	e.w.Name("input_audio").Object()
	e.w.Name("data").Text(m.Data)
	e.w.Name("format").String(format)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

func (e *encoding) document(m *sdk.Media, path string) error {
	e.plan.DropAbout(path, m, true)
	switch {
	case m.Body.Present():
		e.plan.Approximate(path, "the document is sent as text")
		e.documentText(m)
		return nil
	case len(m.Parts) > 0:
		for i := range m.Parts {
			if err := e.part(piece{&m.Parts[i], sdk.PartPath(path+".source", m.Parts, i)}); err != nil {
				return err
			}
		}
		return nil
	case e.uploaded(m):
		e.file(func() { e.w.Name("file_id").Text(m.FileID) })
		return nil
	case m.Data.Present():
		e.file(func() { e.fileData(m) })
		return nil
	case m.URL.Present():
		return &sdk.Inexpressible{What: "a document by URL", Path: path}
	}
	return &sdk.Inexpressible{What: "a document by another provider's file id", Path: path}
}

func (e *encoding) file(members func()) {
	e.w.Object()
	e.w.Name("type").String("file")
	e.w.Name("file").Object()
	members()
	e.w.EndObject()
	e.w.EndObject()
}

// uploaded says whether a file is one that the service can know by its id.
func (e *encoding) uploaded(m *sdk.Media) bool {
	return m.FileID.Present() && e.Dialect != "anthropic" && e.Dialect != "gemini"
}

func (e *encoding) fileData(m *sdk.Media) {
	mime := m.MIME
	if mime == "" {
		mime = "application/pdf"
	}
	e.w.Name("filename").Text(fileName(m))
	e.w.Name("file_data").Joined(sdk.T("data:"+mime+";base64,"), m.Data)
}

// fileName is required beside file_data.
func fileName(m *sdk.Media) sdk.Text {
	switch {
	case !m.Name.Empty():
		return m.Name
	case !m.Title.Empty():
		return m.Title
	}
	return sdk.T("document.pdf")
}

// documentText writes a plain text document as a text.
func (e *encoding) documentText(m *sdk.Media) {
	e.w.Object()
	e.w.Name("type").String("text")
	e.w.Name("text").Joined(titled(m)...)
	e.w.EndObject()
}

// titled is the text of a document under its title, or else its name.
func titled(m *sdk.Media) []sdk.Text {
	title := m.Title
	if title.Empty() {
		title = m.Name
	}
	if title.Empty() {
		return []sdk.Text{m.Body}
	}
	return []sdk.Text{title, sdk.RawText([]byte(break2)), m.Body}
}

// inputMedia writes an image or a document for responses.
func (e *encoding) inputMedia(p piece) error {
	m := p.Media
	switch {
	case m == nil:
		return &sdk.Invalid{Path: p.path, Message: "want content"}
	case p.Kind == sdk.PartAudio:
		return &sdk.Inexpressible{What: "audio input", Path: p.path}
	case p.Kind == sdk.PartVideo:
		return &sdk.Inexpressible{What: "video input", Path: p.path}
	case p.Kind == sdk.PartDocument:
		return e.inputFile(m, p.path)
	}
	url := imageURL(m)
	if url == nil && !e.uploaded(m) {
		return &sdk.Inexpressible{What: "an image by another provider's file id", Path: p.path}
	}
	e.w.Object()
	e.w.Name("type").String("input_image")
	if url != nil {
		e.w.Name("image_url").Joined(url...)
	} else {
		e.w.Name("file_id").Text(m.FileID)
	}
	e.w.StringMember("detail", m.Detail)
	e.w.EndObject()
	return nil
}

func (e *encoding) inputFile(m *sdk.Media, path string) error {
	e.plan.DropAbout(path, m, true)
	if m.Body.Present() {
		e.plan.Approximate(path, "the document is sent as text")
	}
	switch {
	case m.Body.Present():
		e.inputText(titled(m)...)
		return nil
	case len(m.Parts) > 0:
		for i := range m.Parts {
			if err := e.inputPart(piece{&m.Parts[i], sdk.PartPath(path+".source", m.Parts, i)}); err != nil {
				return err
			}
		}
		return nil
	case !e.uploaded(m) && !m.Data.Present() && !m.URL.Present():
		return &sdk.Inexpressible{What: "a document by another provider's file id", Path: path}
	}
	e.w.Object()
	e.w.Name("type").String("input_file")
	switch {
	case e.uploaded(m):
		e.w.Name("file_id").Text(m.FileID)
	case m.Data.Present():
		e.fileData(m)
	default:
		e.w.Name("file_url").Text(m.URL)
	}
	e.w.EndObject()
	return nil
}
