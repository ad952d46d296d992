package pipe

import "testing"

func TestFormOfStream(t *testing.T) {
	f := func(framing, contentType, first string, want Form) {
		t.Helper()
		if got := FormOfStream(framing, []byte(contentType), []byte(first)); got != want {
			t.Errorf("%q as %q, %q: form %d, want %d", framing, contentType, first, got, want)
		}
	}
	const events = "text/event-stream"
	f("", events, "data: {}\n\n", AsFrames)
	f("sse", "application/octet-stream", ": waiting\n\n", AsFrames)
	f("sse", "", "event: message_start\n", AsFrames)
	f("sse", events, "\n\n", AsFrames) // the event may follow
	f("sse", "application/json", " \n", AsBody)
	f("sse", "application/json", `{"choices":[]}`, AsBody)
	f("sse", events, "\ufeff\n{\"choices\":[]}", AsBody)
	f("sse", "text/html", "<html>", AsBody)
	f("sse", "application/json", "[{\n", AsArray)
	f(lines, "application/x-ndjson", `{"done":false}`, AsFrames) // a whole answer has the same form
	f(awsEvents, "application/json", `{"output":{}}`, AsBody)
	f(awsEvents, "application/vnd.amazon.eventstream", "\x00\x00\x00\x7b", AsFrames)
}

func TestStreamsThatWereToBeBodies(t *testing.T) {
	f := func(framing, contentType, body string, want bool) {
		t.Helper()
		if got := NamesStream(framing, []byte(contentType)) || LooksStreamed(framing, []byte(body)); got != want {
			t.Errorf("%q as %q, %q: a stream %v, want %v", framing, contentType, body, got, want)
		}
	}
	f("sse", "Text/Event-Stream; charset=utf-8", "", true)
	f("", "application/octet-stream", "\ufeffdata:{}", true)
	f("", "", "\nevent: ping\n", true)
	f("", "", ": waiting\n\n", true)
	f("", "application/json", `{"data": 1}`, false)
	f("", "application/json", `[{"id": 1}]`, false)
	f(lines, "application/x-ndjson", "", true)
	f(lines, "application/json", `{"done":true}`, false)
	f(awsEvents, "application/vnd.amazon.eventstream", "", true)
	f(awsEvents, "application/json", "data: {}", false)
}
