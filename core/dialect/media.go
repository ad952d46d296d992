package dialect

import (
	"bytes"
	"encoding/base64"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Locate sets where a medium is: in the request as base64, in a data: URL or, as some clients have it, an image bare; or at
// an address of the web or of Google's storage. Other addresses, such as a file's, are refused: no provider is to try them.
// It does nothing for 0.
func (r *Reader) Locate(m *sdk.Media, v int) {
	url := r.Content(v)
	if !url.Present() {
		return
	}
	mime, data, inline := SplitDataURL(url.Raw())
	switch {
	case inline && len(data) == 0, url.Empty():
		r.Refuse(v, "want content")
	case inline:
		m.MIME, m.Data = mime, sdk.RawText(data)
	case startsAs(url.Raw()) != "":
		m.Data = url
	case webAddress(url.Raw()):
		m.URL = url
	default:
		r.Refuse(v, "want an http or https URL, or a data: URL in base64")
	}
}

// webAddress says whether the content of a JSON string is an address that a provider may load from.
func webAddress(raw []byte) bool {
	head := bytes.ToLower(unescaped(raw, len("https://")))
	return bytes.HasPrefix(head, []byte("http://")) || bytes.HasPrefix(head, []byte("https://")) || bytes.HasPrefix(head, []byte("gs://"))
}

// unescaped gives the first n bytes that the content of a JSON string stands for; fewer where it is shorter.
func unescaped(raw []byte, n int) []byte {
	head := raw[:min(len(raw), 6*n)] // no escape is longer than six bytes
	if i := bytes.LastIndexByte(head, '\\'); i >= 0 && len(head) < len(raw) && i > len(head)-6 {
		head = head[:i]
	}
	plain, err := jsonspan.AppendUnescape(nil, head)
	if err != nil {
		return nil
	}
	return plain[:min(len(plain), n)]
}

// Settle brings a medium that is in the request into the form that providers take. What its first bytes are beats what the
// client says of an image, since providers look and refuse an image that is mislabelled
// (https://github.com/1jehuang/jcode/issues/465); a name tells the type of what has none; and a document that is text becomes
// its text, which providers take that read no files of its type.
func Settle(m *sdk.Media) {
	if m.MIME == "application/octet-stream" || m.MIME == "binary/octet-stream" {
		m.MIME = ""
	}
	if m.MIME == "" || strings.HasPrefix(m.MIME, "image/") {
		if mime := startsAs(m.Data.Raw()); mime != "" {
			m.MIME = mime
		}
	}
	if m.MIME == "" {
		name, _ := m.Name.Decoded()
		m.MIME = byExtension(name)
	}
	if !m.Data.Present() || !isText(m.MIME) {
		return
	}
	if text, ok := m.Data.Decoded(); ok {
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(plain) {
			m.Body, m.Data = sdk.T(string(plain)), sdk.Text{}
		}
	}
}

// startsAs gives the media type that the first bytes of base64 tell; "" where they tell none.
func startsAs(data []byte) string {
	head := unescaped(data, 16)
	switch {
	case bytes.HasPrefix(head, []byte("/9j/")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("iVBORw0KGgo")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("R0lGOD")):
		return "image/gif"
	case bytes.HasPrefix(head, []byte("JVBERi0")):
		return "application/pdf"
	case bytes.HasPrefix(head, []byte("UklGR")) && len(head) == 16:
		if riff, err := base64.StdEncoding.DecodeString(string(head)); err == nil && string(riff[8:]) == "WEBP" {
			return "image/webp"
		}
	}
	return ""
}

// byExtension is the media type of the files that models read; "" for others.
func byExtension(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".pdf":
		return "application/pdf"
	case ".txt", ".md", ".csv", ".json", ".jsonl", ".html", ".xml", ".yaml", ".yml", ".log":
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

// isText says whether a document of a media type is text that a model can read as it is.
func isText(mime string) bool {
	switch mime {
	case "application/json", "application/jsonl", "application/x-ndjson", "application/xml", "application/yaml", "application/x-yaml",
		"application/javascript", "application/csv":
		return true
	case "text/rtf":
		return false
	}
	return strings.HasPrefix(mime, "text/")
}
