package golden_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// TestAnswersReachTheOtherClients writes each decoded stream in the client dialect that is not the provider's, reads that
// with a plain reader, and compares what the two say.
func TestAnswersReachTheOtherClients(t *testing.T) {
	golden(t, "decode", func(t *testing.T, p target, in map[string]string) map[string]string {
		stream, streamed := in["stream"]
		if !streamed {
			return nil
		}
		events, err := read(p.NewDecoder(sdk.AnswerInfo{Native: p.native, Stream: true}), split(stream), true)
		if err != nil || len(events) == 0 || events[len(events)-1].Kind != sdk.Done {
			return nil // no complete answer
		}
		to, oracle := "openai-chat", oracleChat
		if p.native == to {
			to, oracle = "anthropic", oracleAnthropic
		}
		enc := client(to).NewEncoder(dialect.EncoderOptions{Stream: true, RequestID: "req_1", Model: "m", Created: time.Unix(1760000000, 0)})
		var want said
		var out []byte
		for i := range events {
			if events[i].Choice > 0 {
				return nil // Anthropic's dialect has one answer
			}
			want.put(&events[i])
			if e := &events[i]; e.Kind == sdk.Image && to == "anthropic" { // which tells of pictures in words
				want.put(&sdk.Event{Kind: sdk.TextDelta, Text: sdk.T(fmt.Sprintf("\n[a picture, %s, %d bytes: this API cannot show what models draw]\n", e.Type, e.Text.Len()/4*3))})
			}
			out = enc.Event(out, &events[i])
		}
		out = enc.End(out)
		got := oracle(split(string(out)))
		// A call without arguments is "{}" to the one and nothing to the other.
		for _, calls := range [][]string{want.Calls, got.Calls} {
			for i := range calls {
				calls[i] = strings.TrimSuffix(calls[i], "{}")
			}
		}
		want.Reason, got.Reason = "", "" // each dialect has its own words
		slices.Sort(want.Calls)
		slices.Sort(got.Calls)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer (-decoded +written):\n%s\n%s", diff, out)
		}
		for _, f := range split(string(out)) {
			if f.data != "[DONE]" && !json.Valid([]byte(f.data)) {
				t.Errorf("frame %s: no JSON", f.data)
			}
		}
		return nil
	})
}
