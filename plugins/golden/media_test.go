package golden_test

import "testing"

// Providers look at an image and refuse one that is mislabelled; what has no label is known by its first bytes.
func TestImageLabels(t *testing.T) {
	const jpeg, png = "/9j/4AAQSkZJRgABAQ==", "iVBORw0KGgoAAAANSUhEUg=="
	const called = `{"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + jpeg + `"}}]}]}]}`
	kinds(t, []kind{
		{name: "1jehuang/jcode#465", client: "chat", targets: "anthropic", want: []string{`/messages/0/content/0/source/media_type "image/jpeg"`},
			request: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + jpeg + `"}}]}]}`},
		{name: "item", client: "responses", targets: "anthropic", want: []string{`/messages/0/content/0/source/media_type "image/png"`},
			request: `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/webp;base64,` + png + `"}]}]}`},
		{name: "inlineData", client: "gemini", targets: "bedrock", want: []string{`/messages/0/content/0/image/format "jpeg"`},
			request: `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"` + jpeg + `"}}]}]}`},
		{name: "result", client: "anthropic", targets: "openai", request: called,
			want: []string{`/messages/3/content/0/image_url/url "data:image/jpeg;base64,` + jpeg + `"`}},
		{name: "bare base64", client: "chat", targets: "anthropic",
			want:    []string{`/messages/0/content/0/source/type "base64"`, `/messages/0/content/0/source/media_type "image/png"`},
			request: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + png + `"}}]}]}`},
	})
}

// Addresses that no provider is to try, and media without content, are refused before any is asked.
func TestAddressesRefused(t *testing.T) {
	const all, want = "openai-responses anthropic gemini bedrock", ": want an http or https URL, or a data: URL in base64"
	kinds(t, []kind{
		{name: "file", client: "chat", targets: all, err: "messages[0].content[0].image_url.url" + want,
			request: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`},
		{name: "data without base64", client: "responses", targets: all, err: "input[0].content[0].image_url" + want,
			request: `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png,abc"}]}]}`},
		{name: "document", client: "responses", targets: all, err: "input[0].content[0].file_url" + want,
			request: `{"input":[{"role":"user","content":[{"type":"input_file","file_url":"ftp://x/a.pdf"}]}]}`},
		{name: "source", client: "anthropic", targets: "openai gemini bedrock", err: "messages[0].content[0].source.url" + want,
			request: `{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"gopher://x"}}]}]}`},
		{name: "empty", client: "chat", targets: all, err: "messages[0].content[0].image_url.url: want content",
			request: `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}]}`},
	})
}

// A file of text goes where files of its type do not.
func TestTextFiles(t *testing.T) {
	const csv = `{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.csv","file_data":"data:text/csv;base64,YSxiCg=="}}]}]}`
	kinds(t, []kind{
		{name: "csv", client: "chat", targets: "anthropic", request: csv,
			want: []string{`/messages/0/content/0/source {"data":"a,b\n","media_type":"text/plain","type":"text"}`, `/messages/0/content/0/title "a.csv"`}},
		{name: "csv", client: "chat", targets: "ollama", request: csv, want: []string{`/messages/0/content "a,b\n"`}},
		{name: "csv", client: "chat", targets: "bedrock", request: csv, want: []string{`/messages/0/content/0/document/source/text "a,b\n"`}},
		{name: "csv", client: "chat", targets: "openai-responses", request: csv, want: []string{`/input/0/content/0/text "a.csv\n\na,b\n"`}},
		{name: "pdf without a label", client: "chat", targets: "anthropic", want: []string{`/messages/0/content/0/source/media_type "application/pdf"`},
			request: `{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a","file_data":"data:application/octet-stream;base64,JVBERi0xLjQK"}}]}]}`},
	})
}
