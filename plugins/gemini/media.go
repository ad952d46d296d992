package gemini

import (
	"path"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// media writes an image, a sound, a film or a document. The gateway fetches nothing: what Google has already is named by its
// address, and the web's addresses are given to Google where the operator allows it.
func (e *encoding) media(b block) error {
	m := b.Media
	if m == nil {
		return &sdk.Invalid{Path: b.path, Message: "want content"}
	}
	mime := mimeOf(b.Kind, m)
	e.plan.DropAbout(b.path, m, false)
	switch {
	case m.Body.Present():
		e.plan.Approximate(b.path, "the document is sent as text")
		e.text(m.Body)
		return nil
	case m.Data.Present() && mime != "":
		e.w.Object()
		e.w.Name("inlineData").Object()
		e.w.Name("mimeType").String(mime)
		e.w.Name("data").Text(m.Data)
		e.w.EndObject()
		e.w.EndObject()
		return nil
	case m.Data.Present():
		return &sdk.Inexpressible{What: kindName(b.Kind) + " of an unknown type", Path: b.path}
	case len(m.Parts) > 0:
		return e.documentParts(b)
	}
	uri := m.URL
	if !uri.Present() {
		uri = m.FileID
	}
	switch address, _ := uri.Decoded(); {
	case address == "":
		return &sdk.Inexpressible{What: kindName(b.Kind) + " without content", Path: b.path}
	case !googles(address) && m.FileID.Present():
		return &sdk.Inexpressible{What: kindName(b.Kind) + " by another provider's file id", Path: b.path}
	case !googles(address) && !e.RemoteMedia:
		return &sdk.Inexpressible{What: kindName(b.Kind) + " by its address", Path: b.path}
	case !googles(address) && mime == "":
		return &sdk.Inexpressible{What: kindName(b.Kind) + " by an address that does not tell its type", Path: b.path}
	}
	e.w.Object()
	e.w.Name("fileData").Object()
	e.w.StringMember("mimeType", mime)
	e.w.Name("fileUri").Text(uri)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// documentParts writes a document that is made of parts.
func (e *encoding) documentParts(b block) error {
	for i := range b.Media.Parts {
		p := block{&b.Media.Parts[i], sdk.PartPath(b.path+".source", b.Media.Parts, i)}
		switch p.Kind {
		case sdk.PartText:
			e.text(p.Text)
		case sdk.PartImage:
			if err := e.media(p); err != nil {
				return err
			}
		default:
			e.plan.Lose(p.path, "the API has no such part here")
		}
	}
	return nil
}

// googles says whether an address is one that Google holds the content of, or plays itself
// (https://ai.google.dev/gemini-api/docs/files, https://ai.google.dev/gemini-api/docs/video-understanding).
func googles(address string) bool {
	for _, prefix := range []string{studio + "/files/", "gs://", "https://www.youtube.com/watch?", "https://youtu.be/"} {
		if strings.HasPrefix(address, prefix) {
			return true
		}
	}
	return false
}

func kindName(k sdk.PartKind) string {
	switch k {
	case sdk.PartImage:
		return "an image"
	case sdk.PartAudio:
		return "a sound"
	case sdk.PartVideo:
		return "a film"
	}
	return "a document"
}

// starts are the beginnings of base64 content that tell its type.
var starts = [...]struct{ base64, mime string }{
	{"/9j/", "image/jpeg"}, {"iVBORw0KGgo", "image/png"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"}, {"JVBERi", "application/pdf"},
}

// mimeOf gives the media type; "" where neither the client nor the content says it.
func mimeOf(kind sdk.PartKind, m *sdk.Media) string {
	switch {
	case m.MIME == "image/jpg":
		return "image/jpeg"
	case m.MIME == "audio/mpeg":
		return "audio/mp3" // https://ai.google.dev/gemini-api/docs/audio, supported audio formats
	case m.MIME != "":
		return m.MIME
	}
	for _, s := range starts {
		if kind != sdk.PartAudio && kind != sdk.PartVideo && m.Data.HasPrefix(s.base64) {
			return s.mime
		}
	}
	address, _ := m.URL.Decoded()
	address, _, _ = strings.Cut(address, "?")
	switch strings.ToLower(path.Ext(address)) {
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".webp":
		return "image/webp"
	case ".gif":
		return "image/gif"
	case ".pdf":
		return "application/pdf"
	case ".mp4":
		return "video/mp4"
	case ".webm":
		return "video/webm"
	case ".mov":
		return "video/quicktime"
	}
	return ""
}
