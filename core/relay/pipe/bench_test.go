package pipe

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
)

const event = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n"

// TestPassageAllocatesNothing: an event that came in one read passes without a new piece of memory.
func TestPassageAllocatesNothing(t *testing.T) {
	p, read := newTestPassage(openaichat.Dialect{}, false), []byte(event)
	p.Feed(read)
	if n := testing.AllocsPerRun(100, func() { p.Feed(read) }); n > 0 {
		t.Errorf("%v allocations for an event, want none", n)
	}
}

// BenchmarkPassage passes an event of a stream.
func BenchmarkPassage(b *testing.B) {
	event := []byte(event)
	p := newTestPassage(openaichat.Dialect{}, false)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if out := p.Feed(event); len(out.Segs) != 1 || out.Failure != nil {
			b.Fatalf("%d segments, %v", len(out.Segs), out.Failure)
		}
	}
}
