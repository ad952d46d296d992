package main

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/penstock-gateway/penstock/core/faultpoint"
)

// exit is a way in which a request ends.
type exit struct {
	name   string
	path   string // "": chat completions
	model  string
	stream bool
	more   string // members of the body
	slowly bool   // the client reads
	alone  bool   // on a connection of its own
	racy   bool   // which points are reached is not the same each time
}

func bookExits() []exit {
	return []exit{
		{name: "whole", model: "ok"},
		{name: "stream", model: "ok", stream: true},
		{name: "whole, translated", path: "/v1/messages", model: "ok"},
		{name: "stream, translated", path: "/v1/messages", model: "ok", stream: true},
		{name: "over HTTP/2", model: "far", stream: true},
		{name: "upstream 400", model: "says400"},
		{name: "upstream 500", model: "says500"},
		{name: "fallback", model: "fallback", stream: true},
		{name: "hedge", model: "hedge", stream: true, racy: true},
		{name: "hedge, whole", model: "hedge", racy: true},
		{name: "router", model: "many", stream: true},
		{name: "reset", model: "resets"},
		{name: "broken stream", model: "breaks", stream: true},
		{name: "no content", model: "empty", stream: true},
		{name: "refused connection", model: "nobody"},
		{name: "time-out of the first content", model: "late"},
		{name: "time-out in the answer", model: "idle", stream: true},
		{name: "time-out of the attempt", model: "long", stream: true},
		{name: "slow client", model: "large", stream: true, slowly: true, racy: true},
		{name: "not JSON", more: `,`},
		{name: "unknown model", model: "none"},
		{name: "over its token limit", model: "ok", more: `,"max_completion_tokens":9000`},
	}
}

// TestPanicAtEveryStage plays each way in which a request may end with a panic at each stage that it passes: the client has
// an answer, what was reserved is given back, each call has its row, and nothing of the request is left. Without
// PENSTOCK_LONG=1 the ways share the stages out among them, but for one that is played with all.
func TestPanicAtEveryStage(t *testing.T) {
	t.Parallel()
	f := func(t *testing.T, exits []exit, settings string) {
		t.Parallel()
		b := openBooks(t, settings)
		for n, e := range exits {
			points, normal := b.trace(&e)
			for i, p := range points {
				all := e.name == "stream" || os.Getenv("PENSTOCK_LONG") == "1"
				switch {
				case slices.Index(points, p) < i, !all && (i+n)%4 != 0:
					continue
				case p == faultpoint.ReadSpent && e.name != "stream": // after that one the store is left alone for a second
					continue
				}
				b.panics(&e, p, 1, normal)
				if slices.Contains(points[i+1:], p) {
					b.panics(&e, p, 2, normal)
				}
			}
		}
		b.audit()
		b.emptied()
	}
	t.Run("memory", func(t *testing.T) { f(t, bookExits(), "") })
	t.Run("shared counters", func(t *testing.T) {
		url, _ := startCounters(t)
		exits := slices.DeleteFunc(bookExits(), func(e exit) bool { return e.name != "stream" && e.name != "fallback" && e.name != "hedge" })
		f(t, exits, fmt.Sprintf("counters: {url: %q}\n", url))
	})
}
