package frame

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// text is the encoding of a header whose value is text.
func text(name, value string) string {
	return string([]byte{byte(len(name))}) + name + "\x07" +
		string(binary.BigEndian.AppendUint16(nil, uint16(len(value)))) + value
}

// encodeMessage is one message of the AWS event stream with right checksums.
func encodeMessage(headers, payload string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(overhead+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func TestEventStream(t *testing.T) {
	f := func(headers, payload string, want seen) {
		t.Helper()
		in := encodeMessage(headers, payload)
		want.Raw, want.Lines = string(in), 1
		for n := 1; n <= len(in); n++ {
			got, err := run(NewEventStream(0), pieces(in, n)...)
			if diff := cmp.Diff([]seen{want}, got); diff != "" || err != nil {
				t.Fatalf("in chunks of %d: %v (-want +got):\n%s", n, err, diff)
			}
		}
	}
	f("", "", seen{})
	f("", "x", seen{Data: "x"})
	f(text(":event-type", "chunk")+text(":message-type", "event"), "{}", seen{Event: "chunk", Data: "{}"})
	f(text(":message-type", "exception")+text(":exception-type", "throttlingException"), `{"message":"slow"}`,
		seen{Event: "throttlingException", Data: `{"message":"slow"}`, Exception: true})
	f(text(":message-type", "error")+text(":error-code", "500")+text(":error-message", "down"), "",
		seen{Event: "500", Data: "down", Exception: true})
	// A header of each other type before the one that counts.
	others := "\x01a\x00" + "\x01b\x01" + "\x01c\x02." + "\x01d\x03.." + "\x01e\x04...." + "\x01f\x05........" +
		"\x01g\x06\x00\x03abc" + "\x01h\x08........" + "\x01i\x09................"
	f(others+text(":event-type", "e"), "p", seen{Event: "e", Data: "p"})
}

func TestEventStreamRefuses(t *testing.T) {
	f := func(what string, in []byte, want error, wantText string) {
		t.Helper()
		for _, n := range []int{1, len(in)} {
			frames, err := run(NewEventStream(1024), pieces(in, n)...)
			if len(frames) > 0 || !errors.Is(err, want) || !strings.Contains(err.Error(), wantText) {
				t.Errorf("%s in chunks of %d: %d frames, error %v; want %v with %q", what, n, len(frames), err, want, wantText)
			}
		}
	}
	good := encodeMessage(text(":event-type", "chunk"), "payload")
	f("flipped length", flip(good, 3), ErrMalformed, "prelude checksum")
	f("flipped header", flip(good, 14), ErrMalformed, "message checksum")
	f("flipped payload", flip(good, len(good)-6), ErrMalformed, "message checksum")
	f("flipped checksum", flip(good, len(good)-1), ErrMalformed, "message checksum")
	f("cut", good[:len(good)-1], ErrTruncated, "inside a message")
	f("cut in the prelude", good[:5], ErrTruncated, "after 5 bytes")
	f("too large", encodeMessage("", strings.Repeat("x", 1024)), ErrTooLarge, "at most 1024")
	f("header cut in its name", encodeMessage("\x09abc", ""), ErrMalformed, "header")
	f("header without a type", encodeMessage("\x01a", ""), ErrMalformed, "header")
	f("header of type 10", encodeMessage("\x01a\x0a", ""), ErrMalformed, "header")
	f("header cut in its length", encodeMessage("\x01a\x07\x00", ""), ErrMalformed, "header")
	f("header cut in its value", encodeMessage("\x01a\x07\x00\x05abcd", ""), ErrMalformed, "header")
	f("headers longer than the message", prelude(16, 1), ErrMalformed, "16 bytes with 1 of headers")
	f("message shorter than its frame", prelude(15, 0), ErrMalformed, "15 bytes")
	f("largest length", prelude(1<<32-1, 0), ErrTooLarge, "at most 1024")
}

// flip returns b with a bit of byte i flipped.
func flip(b []byte, i int) []byte {
	b = append([]byte(nil), b...)
	b[i] ^= 1
	return b
}

// prelude is a prelude with a right checksum, and some bytes behind it.
func prelude(total, headers uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return append(b, "...................."...)
}

func FuzzEventStream(f *testing.F) {
	recording, err := os.ReadFile("testdata/bedrock.eventstream")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recording, uint64(0x1234567))
	f.Add(encodeMessage(text(":event-type", "chunk"), "{}"), uint64(1))
	f.Fuzz(func(t *testing.T, body []byte, cuts uint64) {
		if len(body) > 1<<12 {
			return
		}
		whole, wholeErr := run(NewEventStream(0), body)
		cut, cutErr := run(NewEventStream(0), cutBy(body, cuts)...)
		if diff := cmp.Diff(whole, cut); diff != "" || errorText(wholeErr) != errorText(cutErr) {
			t.Errorf("cut by %x: %v, whole: %v (-whole +cut):\n%s", cuts, cutErr, wholeErr, diff)
		}
	})
}

// Headers are read from bytes whose checksum is right by chance or by intent.
func FuzzEventStreamHeaders(f *testing.F) {
	f.Add(text(":event-type", "chunk")+"\x01a\x06\x00\x02ab", "{}")
	f.Add("\x00\x00\x00\x01", "")
	f.Fuzz(func(t *testing.T, headers, payload string) {
		if len(headers) > 1<<12 || len(payload) > 1<<12 {
			return
		}
		frames, err := run(NewEventStream(0), encodeMessage(headers, payload))
		if err == nil && (len(frames) != 1 || payload != "" && frames[0].Data != payload) {
			t.Errorf("frames %+v, want one with data %q", frames, payload)
		}
	})
}
