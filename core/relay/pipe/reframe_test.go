package pipe

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/sdk"
)

// awsMessage writes a message of the AWS event stream.
func awsMessage(event, payload string) string {
	var h []byte
	for _, f := range [][2]string{{":message-type", "event"}, {":event-type", event}} {
		h = append(append(h, byte(len(f[0]))), f[0]...)
		h = append(binary.BigEndian.AppendUint16(append(h, 7), uint16(len(f[1]))), f[1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(h)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func chunk(event string) string {
	return awsMessage("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abcdefgh"}`)
}

var chunksDialect = sdk.Dialect{Name: "anthropic", Framing: "aws-event-stream", Unwrap: "/bytes"}

// newReframed is a passage of Anthropic's events in chunks.
func newReframed() *Passage {
	return NewPassage(Source{Dialect: &chunksDialect}, anthropic.Dialect{}, dialect.ObserverOptions{Stream: true})
}

func TestReframing(t *testing.T) {
	events := []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"héllo\nthere"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}`,
	}
	var wire, want strings.Builder
	for _, e := range events {
		wire.WriteString(chunk(e))
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		want.WriteString("event: " + name + "\ndata: " + e + "\n\n")
	}
	body := wire.String()
	for cut := range len(body) {
		p := newReframed()
		got, failure := through(p, body[:cut], body[cut:])
		content, done := p.Progress()
		usage, reason := p.Tally()
		if got != want.String() || failure != nil || !content || !done || reason != sdk.ReasonStop || usage.TotalInput() != 3 || usage.TotalOutput() != 5 {
			t.Fatalf("cut at %d: %q, %v, content %v, done %v, %v, %+v; want %q", cut, got, failure, content, done, reason, usage, want.String())
		}
	}
}

func TestReframingOfABrokenStream(t *testing.T) {
	begin := chunk(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[]}}`)
	tests := []struct{ name, body, message string }{
		{"cut inside a message", begin + begin[:20], "ended before the answer was complete"},
		{"cut between messages", begin, "ended before the answer was complete"},
		{"no base64", awsMessage("chunk", `{"bytes":"~"}`), "malformed"},
		{"no JSON inside", chunk("hello"), "not JSON"},
	}
	for _, test := range tests {
		_, failure := through(newReframed(), test.body)
		if failure == nil || !strings.Contains(failure.Message, test.message) {
			t.Errorf("%s: %v, want %q", test.name, failure, test.message)
		}
	}
}

// TestUnwrapping leaves alone what is not wrapped: other APIs of a service share its framing.
func TestUnwrapping(t *testing.T) {
	f := func(message, event, data string) {
		t.Helper()
		s := newSplitter(Source{Dialect: &chunksDialect})
		s.Feed([]byte(message))
		got, ok, err := s.Next()
		if !ok || err != nil || string(got.Event) != event || string(got.Data) != data {
			t.Errorf("%q %q, %v, %v; want %q %q", got.Event, got.Data, ok, err, event, data)
		}
	}
	f(chunk(`{"a":1}`), "", `{"a":1}`)
	f(awsMessage("messageStart", `{"role":"assistant"}`), "messageStart", `{"role":"assistant"}`)
	f(awsMessage("chunk", `{"bytes":1}`), "chunk", `{"bytes":1}`)
	f(awsMessage("chunk", `text`), "chunk", `text`)
	s := newSplitter(Source{Dialect: &chunksDialect})
	s.Feed([]byte(awsMessage("chunk", `{"bytes":"%"}`)))
	if _, ok, err := s.Next(); ok || !errors.Is(err, frame.ErrMalformed) {
		t.Errorf("bad base64: %v, %v; want a malformed stream", ok, err)
	}
}
