package frame

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seen is a Frame whose contents outlive the splitter's next call.
type seen struct {
	Raw, Event, Data, ID string
	Lines                int
	Comment, Exception   bool
	Partial              bool
}

func see(f Frame) seen {
	return seen{
		Raw: string(f.Raw), Event: string(f.Event), Data: string(f.Data), ID: string(f.ID),
		Lines: f.Lines, Comment: f.Comment, Exception: f.Exception, Partial: f.Partial,
	}
}

// run feeds the chunks, each from a buffer that is overwritten as soon as the
// splitter has no claim on it, with a pause behind some, and returns
// the frames and the final error.
func run(s Splitter, chunks ...[]byte) ([]seen, error) {
	var out []seen
	var buf []byte
	for n, c := range chunks {
		buf = append(buf[:0], c...)
		s.Feed(buf)
		for {
			f, ok, err := s.Next()
			if err != nil {
				return out, err
			}
			if !ok {
				break
			}
			out = append(out, see(f))
		}
		for i := range buf {
			buf[i] = '#'
		}
		if n%64 == 1 {
			s.Spare()
		}
	}
	for {
		f, ok, err := s.End()
		if !ok || err != nil {
			return out, err
		}
		out = append(out, see(f))
	}
}

// pieces cuts b into chunks of n bytes.
func pieces(b []byte, n int) [][]byte {
	var out [][]byte
	for len(b) > n {
		out = append(out, b[:n])
		b = b[n:]
	}
	return append(out, b)
}

// splitterFor makes the splitter that a recording's file name asks for.
func splitterFor(t testing.TB, name string, limit int) Splitter {
	switch filepath.Ext(name) {
	case ".sse":
		return NewSSE(limit)
	case ".array":
		return NewJSONArray(limit)
	case ".eventstream":
		return NewEventStream(limit)
	case ".ndjson":
		return NewNDJSON(limit)
	}
	t.Fatalf("%s: no splitter for this extension", name)
	return nil
}

// recordings returns the recorded streams by file name, and one of JSON lines that
// is made of the data of a server-sent one.
func recordings(t testing.TB) map[string][]byte {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if filepath.Ext(name) == ".md" {
			continue
		}
		if all[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	var lines []byte
	frames, err := run(NewSSE(0), all["openai-responses.sse"])
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		lines = append(append(lines, f.Data...), '\n')
	}
	all["responses.ndjson"] = lines
	return all
}

func TestRecordings(t *testing.T) {
	wantFrames := map[string]int{
		"anthropic.sse": 18, "gemini-crlf.sse": 1, "openai-chat.sse": 6,
		"openai-responses.sse": 10, "openrouter.sse": 6,
		"gemini.array": 3, "bedrock.eventstream": 10, "responses.ndjson": 10,
	}
	for name, body := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			want, err := run(splitterFor(t, name, 0), body)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != wantFrames[name] {
				t.Errorf("%d frames, want %d", len(want), wantFrames[name])
			}
			if got := rawOf(want); got != string(body) {
				t.Errorf("Raw of all frames is not the body: %q", got)
			}
			s := splitterFor(t, name, 0)
			check := func(what string, at int, chunks ...[]byte) {
				s.Reset()
				got, err := run(s, chunks...)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s %d: error %v, frames differ:\n%s", what, at, err, cmp.Diff(want, got))
				}
			}
			for i := range len(body) + 1 {
				check("cut at", i, body[:i], body[i:])
			}
			for _, n := range []int{1, 2, 3, 7, 100} {
				check("chunks of", n, pieces(body, n)...)
			}
		})
	}
}

func rawOf(frames []seen) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(f.Raw)
	}
	return b.String()
}

// Each splitter must stop at its limit whether the frame comes whole or in pieces,
// and say the same ever after.
func TestLimit(t *testing.T) {
	for name, body := range recordings(t) {
		frames, err := run(splitterFor(t, name, 0), body)
		if err != nil {
			t.Fatal(err)
		}
		largest, at := 0, 0
		for i, f := range frames {
			if len(f.Raw) > largest {
				largest, at = len(f.Raw), i
			}
		}
		for _, chunk := range []int{1, 50, len(body)} {
			if _, err := run(splitterFor(t, name, largest), pieces(body, chunk)...); err != nil {
				t.Errorf("%s, limit %d, chunks of %d: %v", name, largest, chunk, err)
			}
			s := splitterFor(t, name, largest-1)
			got, err := run(s, pieces(body, chunk)...)
			if !errors.Is(err, ErrTooLarge) || len(got) != at {
				t.Errorf("%s, limit %d, chunks of %d: %d frames and %v, want %d and ErrTooLarge",
					name, largest-1, chunk, len(got), err, at)
			}
			s.Feed([]byte("data: x\n\n"))
			if _, ok, err := s.Next(); ok || !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s: Next after the error: %v, %v", name, ok, err)
			}
		}
	}
}

// A splitter must not hold more than its limit however long a frame gets.
func TestEndlessFrame(t *testing.T) {
	const limit = 1 << 20
	chunk := bytes.Repeat([]byte("a"), 32<<10)
	for name, s := range map[string]Splitter{
		"sse": NewSSE(limit), "ndjson": NewNDJSON(limit), "array": NewJSONArray(limit),
	} {
		s.Feed([]byte(`["`))
		var err error
		fed := 0
		for err == nil && fed < 64<<20 {
			if _, _, err = s.Next(); err == nil {
				s.Feed(chunk)
				fed += len(chunk)
			}
		}
		if !errors.Is(err, ErrTooLarge) || fed > limit+len(chunk) {
			t.Errorf("%s: after %d bytes: %v", name, fed, err)
		}
	}
}

func TestFeedOutOfTurn(t *testing.T) {
	s := NewSSE(0)
	s.Feed([]byte("data: 1\n\ndata: 2\n\n"))
	if _, ok, _ := s.Next(); !ok {
		t.Fatal("no frame")
	}
	defer func() {
		if recover() == nil {
			t.Error("Feed over an unread frame did not panic")
		}
	}()
	s.Feed([]byte("data: 3\n\n"))
}

// A frame that lies whole in a chunk is a part of that chunk.
func TestZeroCopy(t *testing.T) {
	chunk := []byte("data: one\n\ndata: two\n\n")
	s := NewSSE(0)
	s.Feed(chunk)
	for _, at := range []int{0, 11} {
		f, ok, err := s.Next()
		if !ok || err != nil || &f.Raw[0] != &chunk[at] || &f.Data[0] != &chunk[at+6] {
			t.Errorf("frame at %d: %v, %v, not a part of the chunk: %+v", at, ok, err, f)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for name, body := range recordings(t) {
		s, chunks := splitterFor(t, name, 0), pieces(body, 300)
		n := testing.AllocsPerRun(20, func() {
			s.Reset()
			for _, c := range chunks {
				s.Feed(c)
				for ok := true; ok; {
					_, ok, _ = s.Next()
				}
			}
			for ok := true; ok; {
				_, ok, _ = s.End()
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a stream, want 0", name, n)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	for name, body := range recordings(b) {
		body = bytes.Repeat(body, 1+16<<10/len(body))
		if filepath.Ext(name) == ".array" {
			continue
		}
		b.Run(name, func(b *testing.B) {
			s := splitterFor(b, name, 0)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				s.Feed(body)
				for ok := true; ok; {
					_, ok, _ = s.Next()
				}
			}
		})
	}
}

// TestSpareHoldsNoMoreThanIsBegun: of a long frame that was given nothing is left, and a begun one has little room.
func TestSpareHoldsNoMoreThanIsBegun(t *testing.T) {
	s := NewSSE(0)
	for range 9 {
		s.Feed(bytes.Repeat([]byte("x"), 1000))
		if _, ok, err := s.Next(); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if s.Spare(); s.Begun() != 9000 || len(s.carry) != 9000 || cap(s.carry) > 12000 {
		t.Errorf("%d bytes in %d for a frame that is begun, said to be %d", len(s.carry), cap(s.carry), s.Begun())
	}
	s.Feed([]byte("\n\n"))
	if _, ok, err := s.Next(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if s.Begun() != 0 {
		t.Errorf("%d bytes are begun behind a frame that was given", s.Begun())
	}
	if s.Spare(); s.carry != nil {
		t.Errorf("%d bytes are kept of a frame that was given", cap(s.carry))
	}
}
