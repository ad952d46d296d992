package frame

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sse holds a stream to its frames, in chunks of every size.
func sse(t *testing.T, in string, want ...seen) {
	t.Helper()
	for n := 1; n <= max(1, len(in)); n++ {
		got, err := run(NewSSE(0), pieces([]byte(in), n)...)
		if err != nil {
			t.Fatalf("%q in chunks of %d: %v", in, n, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in chunks of %d (-want +got):\n%s", in, n, diff)
		}
	}
}

func TestSSELines(t *testing.T) {
	f := func(in string, want ...seen) { t.Helper(); sse(t, in, want...) }
	// The three line ends, and an LF that completes a CR only in the next chunk.
	f("data: a\n\n", seen{Raw: "data: a\n\n", Data: "a", Lines: 1})
	f("data: a\r\n\r\n", seen{Raw: "data: a\r\n\r\n", Data: "a", Lines: 1})
	f("data: a\r\r", seen{Raw: "data: a\r\r", Data: "a", Lines: 1})
	f("data: a\n\r\ndata: b\r\r\n\n", seen{Raw: "data: a\n\r\n", Data: "a", Lines: 1},
		seen{Raw: "data: b\r\r", Data: "b", Lines: 1})
	f("data: a\r\rdata: b\r\n\r\n", seen{Raw: "data: a\r\r", Data: "a", Lines: 1},
		seen{Raw: "data: b\r\n\r\n", Data: "b", Lines: 1})
	f("data: a\r\r\ndata: b\n\n", seen{Raw: "data: a\r\r", Data: "a", Lines: 1},
		seen{Raw: "\ndata: b\n\n", Data: "b", Lines: 1})
	f("data: a\r\n\rdata: b\n\n", seen{Raw: "data: a\r\n\r", Data: "a", Lines: 1},
		seen{Raw: "data: b\n\n", Data: "b", Lines: 1})
	f("data: a\r\n\r", seen{Raw: "data: a\r\n\r", Data: "a", Lines: 1})

	// The byte order mark: once, at the start, or it is part of a field's name.
	f("\xEF\xBB\xBFdata: a\n\n", seen{Raw: "\xEF\xBB\xBFdata: a\n\n", Data: "a", Lines: 1})
	f("\xEF\xBB\xBF\n\ndata: a\n\n", seen{Raw: "\xEF\xBB\xBF\n\ndata: a\n\n", Data: "a", Lines: 1})
	f("\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", seen{Raw: "\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n"})
	f("\xEF\xBBdata: a\n\n", seen{Raw: "\xEF\xBBdata: a\n\n"})
	f("data: a\n\n\xEF\xBB\xBFdata: b\n\n", seen{Raw: "data: a\n\n", Data: "a", Lines: 1},
		seen{Raw: "\xEF\xBB\xBFdata: b\n\n"})

	// Blank lines belong to the frame after them.
	f("\n\r\n\rdata: a\n\n\n", seen{Raw: "\n\r\n\rdata: a\n\n", Data: "a", Lines: 1})
	f("\n\n")
	f("\xEF\xBB\xBF")

	// The body ends inside an event.
	f("data: a\n\ndata: b\n", seen{Raw: "data: a\n\n", Data: "a", Lines: 1},
		seen{Raw: "data: b\n", Data: "b", Lines: 1, Partial: true})
	f("data: {\"a", seen{Raw: "data: {\"a", Data: "{\"a", Lines: 1, Partial: true})
	f("data: a\r", seen{Raw: "data: a\r", Data: "a", Lines: 1, Partial: true})
	f("\xEF\xBB", seen{Raw: "\xEF\xBB", Partial: true})
	f("d", seen{Raw: "d", Partial: true})
}

func TestSSEFields(t *testing.T) {
	f := func(in string, want ...seen) { t.Helper(); sse(t, in, want...) }
	// Spaces: one is taken off, and only in front.
	f("data:a\n\n", seen{Raw: "data:a\n\n", Data: "a", Lines: 1})
	f("data:  a \n\n", seen{Raw: "data:  a \n\n", Data: " a ", Lines: 1})
	f("data : a\n\n", seen{Raw: "data : a\n\n"})
	f(" data: a\n\n", seen{Raw: " data: a\n\n"})

	// Data lines.
	f("data: a\ndata: b\ndata:c\n\n", seen{Raw: "data: a\ndata: b\ndata:c\n\n", Data: "a\nb\nc", Lines: 3})
	f("data\ndata\n\n", seen{Raw: "data\ndata\n\n", Data: "\n", Lines: 2})
	f("data\n\n", seen{Raw: "data\n\n", Lines: 1})
	f("data:\n\n", seen{Raw: "data:\n\n", Lines: 1})
	f("data: a:b: c\n\n", seen{Raw: "data: a:b: c\n\n", Data: "a:b: c", Lines: 1})
	f("data: [DONE]\n\n", seen{Raw: "data: [DONE]\n\n", Data: "[DONE]", Lines: 1})
	f("data: \xff\x00\xfe\n\n", seen{Raw: "data: \xff\x00\xfe\n\n", Data: "\xff\x00\xfe", Lines: 1})

	// The other fields.
	f("event: e\nid: 7\nretry: 10\ndata: a\n\n",
		seen{Raw: "event: e\nid: 7\nretry: 10\ndata: a\n\n", Event: "e", ID: "7", Data: "a", Lines: 1})
	f("event: e\nevent: f\n\n", seen{Raw: "event: e\nevent: f\n\n", Event: "f"})
	f("id: a\x00b\ndata: x\n\n", seen{Raw: "id: a\x00b\ndata: x\n\n", Data: "x", Lines: 1})
	f("Data: a\nfoo: b\nbar\ndata: c\n\n", seen{Raw: "Data: a\nfoo: b\nbar\ndata: c\n\n", Data: "c", Lines: 1})

	// Comments.
	f(": hello\n\n", seen{Raw: ": hello\n\n", Comment: true})
	f(":\n\n", seen{Raw: ":\n\n", Comment: true})
	f(": x\ndata: a\n\n", seen{Raw: ": x\ndata: a\n\n", Data: "a", Lines: 1})
}

// A CR-only stream must not wait for the byte after the blank line.
func TestSSELoneCRAtOnce(t *testing.T) {
	s := NewSSE(0)
	s.Feed([]byte("data: a\r\r"))
	if f, ok, err := s.Next(); !ok || string(f.Data) != "a" || err != nil {
		t.Errorf("Next = %+v, %v, %v; want the event", f, ok, err)
	}
}

// event is what a reader of a stream is told.
type event struct{ Event, Data string }

// plainSSE decodes a whole text the slow way, step by step as the WHATWG standard
// words it. It dispatches an event that the text's end cuts off, too.
func plainSSE(text string) []event {
	text = strings.TrimPrefix(text, mark)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var out []event
	var e event
	var data []string
	for _, line := range append(strings.Split(text, "\n"), "") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				e.Data = strings.Join(data, "\n")
				out = append(out, e)
			}
			e, data = event{}, nil
		case name == "data":
			data = append(data, value)
		case name == "event":
			e.Event = value
		}
	}
	return out
}

func eventsOf(frames []seen) []event {
	var out []event
	for _, f := range frames {
		if f.Lines > 0 {
			out = append(out, event{f.Event, f.Data})
		}
	}
	return out
}

func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: a\r\n\r\ndata: b\n\n", "data: a\r\rdata: b\n\r\n", "\xEF\xBB\xBFdata:x\ndata\n\n", ": c\n\nevent: e\n",
		"data: a\r\n\r", "\n\r\rdata: a\r", "id: 1\n\n\n", "\xEF\xBB\r\n\xEF",
	} {
		f.Add([]byte(s), uint64(0x1234567))
	}
	f.Fuzz(func(t *testing.T, body []byte, cuts uint64) {
		if len(body) > 1<<12 {
			return
		}
		whole, err := run(NewSSE(0), body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plainSSE(string(body)), eventsOf(whole)); diff != "" {
			t.Errorf("events (-plain +splitter):\n%s", diff)
		}
		rest, ok := strings.CutPrefix(string(body), rawOf(whole))
		if !ok || strings.Trim(strings.TrimPrefix(rest, mark), "\r\n") != "" {
			t.Errorf("Raw of all frames leaves %q of the body", rest)
		}
		cut, err := run(NewSSE(0), cutBy(body, cuts)...)
		if diff := cmp.Diff(whole, cut); diff != "" || err != nil {
			t.Errorf("cut by %x: %v (-whole +cut):\n%s", cuts, err, diff)
		}
	})
}

// cutBy cuts b into chunks of 0 to 15 bytes, their lengths read from cuts.
func cutBy(b []byte, cuts uint64) [][]byte {
	var out [][]byte
	for len(b) > 0 {
		n := min(int(cuts&15), len(b))
		out, b = append(out, b[:n]), b[n:]
		cuts = cuts>>4 | (cuts&15^5)<<60
	}
	return out
}

func TestAppendSSE(t *testing.T) {
	f := func(event, data, want string) {
		t.Helper()
		if got := string(AppendSSE([]byte("<"), event, []byte(data))); got != "<"+want {
			t.Errorf("AppendSSE(%q, %q) = %q, want %q", event, data, got, "<"+want)
		}
	}
	f("", "{}", "data: {}\n\n")
	f("ping", "{}", "event: ping\ndata: {}\n\n")
	f("", "", "data: \n\n")
	f("", "a\nb\rc\r\nd", "data: a\ndata: b\ndata: c\ndata: d\n\n")
	f("", "\n\nevent: message_stop", "data: \ndata: \ndata: event: message_stop\n\n")
	f("", "\r\rdata: [DONE]", "data: \ndata: \ndata: data: [DONE]\n\n")
	f("", "a\n", "data: a\ndata: \n\n")
	f("a\nb\r\n", "x", "event: ab\ndata: x\n\n")
}

func TestAppendComment(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got := AppendComment(nil, text)
		if string(got) != want {
			t.Errorf("AppendComment(%q) = %q, want %q", text, got, want)
		}
		frames, err := run(NewSSE(0), got)
		if err != nil || len(frames) != 1 || !frames[0].Comment {
			t.Errorf("AppendComment(%q) reads as %+v, %v; want one comment", text, frames, err)
		}
	}
	f("keep-alive", ": keep-alive\n\n")
	f("", ": \n\n")
	f("a\ndata: b\r\n\r\ndata: c", ": a\n: data: b\n: \n: data: c\n\n")
}

// Whatever a model says stays inside one event.
func FuzzAppendSSE(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\n\nevent: message_stop", "\r\rdata: [DONE]", "a\r", "\r\n\r\n", "\u2028\x00\n", ": x"} {
		f.Add("delta", []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		frames, err := run(NewSSE(0), AppendSSE(nil, name, data))
		if err != nil || len(frames) != 1 {
			t.Fatalf("%d frames, error %v; want one frame", len(frames), err)
		}
		want := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		want = bytes.ReplaceAll(want, []byte("\r"), []byte("\n"))
		wantName := strings.NewReplacer("\r", "", "\n", "").Replace(name)
		if got := frames[0]; got.Data != string(want) || got.Event != wantName || got.Partial {
			t.Errorf("AppendSSE(%q, %q) reads as %+v", name, data, got)
		}
	})
}

func BenchmarkAppendSSE(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 256)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendSSE(dst[:0], "content_block_delta", data)
	}
}
