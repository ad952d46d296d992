package pipe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/openairesponses"
	"github.com/penstock-gateway/penstock/sdk"
)

// newTestPassage is a passage outside of an attempt.
func newTestPassage(d dialect.Dialect, hide bool) *Passage {
	return NewPassage(Source{Dialect: &sdk.Dialect{}}, d, dialect.ObserverOptions{Stream: true, HideUsage: hide})
}

// through feeds a stream in pieces and gives what a client gets, and how it ended.
func through(p *Passage, pieces ...string) (out string, failure *sdk.Failure) {
	var b strings.Builder
	take := func(x Piece) bool {
		b.Write(bytes.Join(x.Segs, nil))
		failure = x.Failure
		return failure == nil && !p.done
	}
	for _, s := range pieces {
		chunk := []byte(s)
		if !take(p.Feed(chunk)) {
			return b.String(), failure
		}
		for i := range chunk {
			chunk[i] = '#' // nothing of a chunk may be used after its call
		}
	}
	take(p.End())
	return b.String(), failure
}

const chatStream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n: comment\n\n" +
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"h\u00e9llo\"}}]}\r\n\r\ndata:{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" +
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\ndata: [DONE]\n\n"

func TestPassageGivesTheBytesHoweverTheyAreCut(t *testing.T) {
	for i := range len(chatStream) {
		p := newTestPassage(openaichat.Dialect{}, false)
		out, f := through(p, chatStream[:i], chatStream[i:])
		u, reason := p.Tally()
		if out != chatStream || f != nil || u.TotalInput() != 3 || u.TotalOutput() != 2 || reason != sdk.ReasonStop || !p.content || !p.done {
			t.Fatalf("cut at %d: %q, %v, usage %+v", i, out, f, u)
		}
	}
	p := newTestPassage(openaichat.Dialect{}, false)
	if out, f := through(p, strings.Split(chatStream, "")...); out != chatStream || f != nil {
		t.Errorf("byte by byte: %q, %v", out, f)
	}
}

func TestPassageHidesWhatOnlyWeAskedFor(t *testing.T) {
	want := chatStream[:strings.Index(chatStream, "data: {\"choices\":[],")] + "data: [DONE]\n\n"
	for i := range len(chatStream) {
		p := newTestPassage(openaichat.Dialect{}, true)
		if out, f := through(p, chatStream[:i], chatStream[i:]); out != want || f != nil {
			t.Fatalf("cut at %d: %q, %v; want %q", i, out, f, want)
		}
		if u, _ := p.Tally(); u.TotalInput() != 3 {
			t.Fatalf("cut at %d: the hidden usage was not read: %+v", i, u)
		}
	}
}

// TestNoCutPassesAsComplete ends streams at every byte: only those that had said why they end may end well.
func TestNoCutPassesAsComplete(t *testing.T) {
	anthropicStream := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	for _, c := range []struct {
		d            dialect.Dialect
		stream, said string
	}{{openaichat.Dialect{}, chatStream, `"finish_reason":"stop"}]}`}, {anthropic.Dialect{}, anthropicStream, `"output_tokens":1}}`}} {
		from := strings.Index(c.stream, c.said) + len(c.said)
		for i := range len(c.stream) {
			_, f := through(newTestPassage(c.d, false), c.stream[:i])
			if complete := f == nil; complete && i < from {
				t.Errorf("%s cut at %d of %d, before it said why it ends: passed as complete", c.d.Name(), i, len(c.stream))
			}
		}
		if _, f := through(newTestPassage(c.d, false), c.stream); f != nil {
			t.Errorf("%s whole: %v", c.d.Name(), f)
		}
	}
}

// TestPassageOfWhatIsNotForTheClient passes streams of services that are only nearly compatible, cut at every byte.
func TestPassageOfWhatIsNotForTheClient(t *testing.T) {
	const (
		text = `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`
		done = "data: [DONE]\n\n"
		stop = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n"
		end  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
		last = `{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`
		mark = "\xEF\xBB\xBF"
		over = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
	)
	chat, messages, responses, google := openaichat.Dialect{}, anthropic.Dialect{}, openairesponses.Dialect{}, gemini.Dialect{}
	wait := string(chat.KeepAlive())
	for _, c := range []struct {
		name     string
		d        dialect.Dialect
		in, want string
	}{
		{"events without data", chat, "data:\n\ndata: " + text + "\n\nevent: heartbeat\ndata: \n\n" + done, wait + "data: " + text + "\n\n" + wait + done},
		{"an empty object", chat, "event: keepalive\ndata: {}\n\ndata: " + text + "\n\n" + done, wait + "data: " + text + "\n\n" + done},
		{"another dialect's pings", chat, ping + "data: " + text + "\n\n" + done, wait + "data: " + text + "\n\n" + done},
		{"another dialect's pings", responses, ping + "event: response.completed\ndata: " + over + "\n\n", wait + "event: response.completed\ndata: " + over + "\n\n"},
		{"its own pings", messages, ping + stop + end, ping + stop + end},
		{"fields for connecting again", chat, "retry: 3000\n\nid: 7\ndata: " + text + "\n\nid: 8\n" + done, "data: " + text + "\n\n" + done},
		{"fields for connecting again", messages, "id: 7\n" + stop + "id: 8\n" + end, stop + end},
		{"a byte order mark", chat, mark + "data: " + text + "\n\n" + done, "data: " + text + "\n\n" + done},
		{"a byte order mark", messages, mark + stop + end, stop + end},
		{"a byte order mark and no names", responses, mark + "data: " + over + "\n\n", "event: response.completed\ndata: " + over + "\n\n"},
		{"a byte order mark before a comment", chat, mark + ": here\n\ndata: " + text + "\n\n" + done, "data: " + text + "\n\n" + done},
		{"a byte order mark before the end", chat, mark + "data: " + text, "data: " + text + "\n\n" + done},
		{"no names", messages, strings.ReplaceAll(strings.ReplaceAll(stop+end, "event: message_delta\n", ""), "event: message_stop\n", ""), stop + end},
		{"no names", responses, "data: " + over + "\n\n", "event: response.completed\ndata: " + over + "\n\n"},
		{"no end mark", chat, "data: " + text + "\n\n", "data: " + text + "\n\n" + done},
		{"no end mark", messages, stop, stop + end},
		{"no blank line", chat, "data: " + text, "data: " + text + "\n\n" + done},
		{"an end mark with white space", chat, "data: " + text + "\n\ndata:  [DONE] \n\n", "data: " + text + "\n\n" + done},
		{"another dialect's end mark", google, "data: " + last + "\n\n" + done, "data: " + last + "\n\n"},
		{"another dialect's end mark", messages, stop + done, stop + end},
		{"a character cut in two", chat, `data: {"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"\uDE00b"},"finish_reason":"stop"}]}` + "\n\n" + done,
			`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"\ud83d\uDE00b"},"finish_reason":"stop"}]}` + "\n\n" + done},
	} {
		for i := range len(c.in) + 1 {
			if got, f := through(newTestPassage(c.d, false), c.in[:i], c.in[i:]); got != c.want || f != nil {
				t.Fatalf("%s, %s, cut at %d: %q, %v; want %q", c.d.Name(), c.name, i, got, f, c.want)
			}
		}
	}
}

func TestHalves(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		var h halves
		var out []string
		for _, s := range strings.Split(in, " ") {
			joined, changed := h.join([]byte(s))
			if changed != (string(joined) != s) {
				t.Errorf("%s: changed %v, got %s", s, changed, joined)
			}
			out = append(out, string(joined))
		}
		if got := strings.Join(out, " "); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	f(`"a\ud83d" "\ude00b"`, `"a" "\ud83d\ude00b"`)
	f(`"a\uD83D" "x" "\uDE00"`, `"a" "x" "\uD83D\uDE00"`)                       // another choice's text between them
	f(`"\ud83d" "\ude00\ud83d" "\ude01"`, `"" "\ud83d\ude00" "\ud83d\ude01"`)   // one after the other
	f(`"\ud83d\ude00" "\ude00"`, `"\ud83d\ude00" "\ude00"`)                     // whole, and one that is alone
	f(`"a\\ud83d" "\ude00"`, `"a\\ud83d" "\ude00"`)                             // a backslash and letters
	f(`"{\"a\":\"\\ud83d" "\\ude00\"}"`, `"{\"a\":\"\\ud83d" "\\ude00\"}"`)     // JSON in a text: its reader joins it
	f(`"\u00e9" "\u4f60" "\ud83d`+`x"`, `"\u00e9" "\u4f60" "\ud83dx"`)          // no pair is begun
	f(`"\\\ud83d" "\ude00"`, `"\\" "\ud83d\ude00"`)                             // after a backslash of the text
	f(`{"b":"\"\ud83d"} {"b":"\ude00\""}`, `{"b":"\""} {"b":"\ud83d\ude00\""}`) // beside quotes
}

func TestPassageEndsAtAnError(t *testing.T) {
	out, f := through(newTestPassage(openaichat.Dialect{}, false), "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\"}}\n\ndata: [DONE]\n\n")
	if f == nil || f.Message != "gone" || strings.Contains(out, "DONE") || !strings.Contains(out, `"a"`) {
		t.Errorf("%q, %v; want the first chunk and the failure", out, f)
	}
}
