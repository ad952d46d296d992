package relay

import (
	"runtime"
	"testing"
	"weak"

	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/core/relay/pipe"
	"github.com/penstock-gateway/penstock/sdk"
)

// forgetful is an exchange whose body can be forgotten.
type forgetful struct {
	h1.Exchange
	body []byte
}

func (f *forgetful) ForgetBody() { f.body = nil }

// TestLargeRequestIsForgotten: what a task has of a request is free at the commit point, unless somebody may be asked again.
func TestLargeRequestIsForgotten(t *testing.T) {
	for _, c := range []struct {
		name   string
		joined *pipe.Seam
		race   *race
		kept   bool
	}{{name: "an answer alone"}, {name: "one that may be gone on with", joined: new(pipe.Seam), kept: true}, {name: "one in a race", race: new(race), kept: true}} {
		body := make([]byte, 1<<20)
		doc := &jsonspan.Doc{Body: body}
		a := &active{run: &run{Task: &Task{Doc: doc, Exchange: &forgetful{body: body}}, joined: c.joined, request: &sdk.Request{Messages: []sdk.Message{{Parts: []sdk.Part{{Text: sdk.RawText(body)}}}}}}, race: c.race}
		a.plans = []plan{{encoded: &pluginhost.Encoded{Segments: [][]byte{body}}, without: []jsonspan.Edit{{With: body}}}}
		a.segs, a.edits = [][]byte{body[:7], body[7:]}, []jsonspan.Edit{{With: body}}
		a.out.Segments, a.signing.Segments = a.segs, a.segs
		is := weak.Make(&body[0])
		body = nil
		a.forget()
		runtime.GC()
		if kept := is.Value() != nil; kept != c.kept {
			t.Errorf("%s: the request is kept: %v, want %v", c.name, kept, c.kept)
		}
		runtime.KeepAlive(a)
	}
}
