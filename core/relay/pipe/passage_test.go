package pipe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/sdk"
)

// newTestPassage is a passage outside of an attempt.
func newTestPassage(d dialect.Dialect, hide bool) *Passage {
	return &Passage{split: newSplitter(&sdk.Dialect{}), obs: d.NewObserver(dialect.ObserverOptions{Stream: true, HideUsage: hide})}
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

func TestPassageEndsAtAnError(t *testing.T) {
	out, f := through(newTestPassage(openaichat.Dialect{}, false), "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"gone\",\"type\":\"server_error\"}}\n\ndata: [DONE]\n\n")
	if f == nil || f.Message != "gone" || strings.Contains(out, "DONE") || !strings.Contains(out, `"a"`) {
		t.Errorf("%q, %v; want the first chunk and the failure", out, f)
	}
}
