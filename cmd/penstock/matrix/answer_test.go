package matrix_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/core/frame"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// said is what an answer says, put together.
type said struct {
	thinking, text, refusal string
	inputs                  map[int]string
	names                   map[int]string
	custom                  map[int]bool // calls with free text in place of arguments
	finish                  sdk.Reason
	usage                   sdk.Usage
	failure                 *sdk.Failure
	done                    bool
	several                 bool // more than one choice, of which the first is here
}

// put adds an event.
func (s *said) put(e *sdk.Event) {
	word := func(t sdk.Text) string {
		d, _ := t.Decoded()
		return d
	}
	if s.several = s.several || e.Choice > 0; e.Choice > 0 {
		return
	}
	if s.names == nil {
		s.names, s.inputs, s.custom = map[int]string{}, map[int]string{}, map[int]bool{}
	}
	switch e.Kind {
	case sdk.ThinkingDelta:
		s.thinking += word(e.Text)
	case sdk.TextDelta:
		s.text += word(e.Text)
	case sdk.RefusalDelta:
		s.refusal += word(e.Text)
	case sdk.ToolBegin:
		s.names[e.Call], s.custom[e.Call] = word(e.Name), e.Custom
	case sdk.ToolInput:
		s.inputs[e.Call] += word(e.Text)
	case sdk.UsageSeen:
		s.usage = e.Usage
	case sdk.Finish:
		s.finish = e.Reason
	case sdk.Failed:
		f := e.Failure
		s.failure = &f
	case sdk.Done:
		s.done = true
	}
}

// reasons are the names of the reasons of an end.
var reasons = map[sdk.Reason]string{sdk.ReasonUnset: "unset", sdk.ReasonStop: "stop", sdk.ReasonStopText: "stop_text", sdk.ReasonLength: "length",
	sdk.ReasonContext: "context", sdk.ReasonTool: "tool", sdk.ReasonFilter: "filter", sdk.ReasonRefusal: "refusal", sdk.ReasonPause: "pause", sdk.ReasonFault: "fault"}

// String writes what was said, a line for each thing; arguments as canonical JSON.
func (s *said) String() string {
	var b strings.Builder
	for _, part := range []struct{ name, text string }{{"thinking", s.thinking}, {"text", s.text}, {"refusal", s.refusal}} {
		if part.text != "" {
			fmt.Fprintf(&b, "%s %s\n", part.name, strconv.Quote(part.text))
		}
	}
	for _, i := range slices.Sorted(maps.Keys(s.names)) {
		fmt.Fprintf(&b, "call %s %s\n", s.names[i], canonical(s.inputs[i]))
	}
	if s.failure != nil {
		fmt.Fprintf(&b, "failed %s %q\n", s.failure.Kind, s.failure.Message)
		return b.String()
	}
	u := s.usage
	fmt.Fprintf(&b, "finish %s\n", reasons[s.finish])
	input, output := u.Input+u.AudioInput+u.ImageInput, u.Output+u.AudioOutput+u.ImageOutput // some dialects alone tell them apart
	fmt.Fprintf(&b, "usage input %d read %d write %d output %d reasoning %d\n", input, u.CacheRead, u.CacheWrite, output, u.Reasoning)
	return b.String()
}

// canonical writes a JSON text in one form; no text is an empty object.
func canonical(text string) string {
	if text == "" {
		return "{}"
	}
	out, err := jsonspan.Canonical(nil, []byte(text))
	if err != nil {
		return text
	}
	return string(out)
}

// pieces gives a body in pieces whose lengths size says; all of it at once where size is nil.
func pieces(body string, size func() int) (list []string) {
	for size != nil && len(body) > 0 {
		n := min(max(size(), 1), len(body))
		list, body = append(list, body[:n]), body[n:]
	}
	if body != "" {
		list = append(list, body)
	}
	return list
}

// splitter cuts a body into frames.
func splitter(framing string) frame.Splitter {
	switch framing {
	case "ndjson":
		return frame.NewNDJSON(0)
	case "json-array":
		return frame.NewJSONArray(0)
	case "aws-event-stream":
		return frame.NewEventStream(0)
	}
	return frame.NewSSE(0)
}

// answer is what an upstream answers.
type answer struct {
	body    string
	stream  bool
	framing string
}

// decode reads an answer as the gateway does: what one read brings crosses to the plugin as one call. each is told of the
// events, which stand until it returns.
func (s *service) decode(a answer, size func() int, each func(e *sdk.Event)) error {
	st := s.Stream(sdk.AnswerInfo{Provider: "target", Native: s.native, Model: s.model, Stream: a.stream})
	tell := func(events []sdk.Event, err error) error {
		for i := range events {
			each(&events[i])
		}
		return err
	}
	if !a.stream {
		if err := tell(st.Decode(sdk.RawFrame{Data: []byte(a.body)})); err != nil {
			return err
		}
		return tell(st.End())
	}
	sp := splitter(a.framing)
	for _, piece := range append(pieces(a.body, size), "") {
		next := sp.Next
		if sp.Feed([]byte(piece)); piece == "" {
			next = sp.End
		}
		frames, err := drain(next)
		if err != nil {
			return err
		}
		if len(frames) > 0 {
			if err := tell(st.Decode(frames...)); err != nil {
				return err
			}
		}
	}
	return tell(st.End())
}

// drain gives the frames that are whole.
func drain(next func() (frame.Frame, bool, error)) (frames []sdk.RawFrame, err error) {
	for {
		f, ok, err := next()
		if err != nil || !ok {
			return frames, err
		}
		if f.Lines > 0 && len(f.Data)+len(f.Event) > 0 {
			frames = append(frames, sdk.RawFrame{Event: string(f.Event), Data: slices.Clone(f.Data)})
		}
	}
}

// carried is an answer that was decoded and written for a client.
type carried struct {
	said   said
	client string // what the client gets
}

// carry decodes an answer and writes it in a client's dialect.
func (s *service) carry(a answer, size func() int, client dialect.Dialect, stream bool) (c carried, err error) {
	enc := client.NewEncoder(dialect.EncoderOptions{Stream: stream, WantUsage: true, RequestID: "req_1", Model: "m", Created: time.Unix(1760000000, 0)})
	var out []byte
	err = s.decode(a, size, func(e *sdk.Event) {
		if e.Kind == sdk.Image && client.Name() == "anthropic" { // which tells of pictures in words
			c.said.text += fmt.Sprintf("\n[a picture, %s, %d bytes: this API cannot show what models draw]\n", e.Type, e.Text.Len()/4*3)
		}
		if c.said.put(e); e.Kind == sdk.Failed {
			if f, ok := enc.(dialect.Failer); ok {
				out = f.AppendFailure(out, &e.Failure, "req_1")
			} else {
				out = client.AppendStreamError(out, &e.Failure, "req_1")
			}
			return
		}
		out = enc.Event(out, e)
	})
	if c.said.failure == nil {
		out = enc.End(out)
	}
	c.client = string(out)
	return c, err
}

// read gives what a client's own answer says. The plugin of the client's dialect reads it.
func read(all map[string]*service, client, body string, stream bool) (said, error) {
	var got said
	err := all[client].decode(answer{body: body, stream: stream}, nil, got.put)
	return got, err
}

// translated makes one cell of answers: what the provider says must be what the archive says, and what the client reads.
func (s *service) translated(t *testing.T, all map[string]*service, client dialect.Dialect, a answer, says string) outcome {
	t.Helper()
	c, err := s.carry(a, nil, client, a.stream)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(says, c.said.String()); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	got, err := read(all, client.Name(), c.client, a.stream)
	if err != nil {
		t.Fatalf("%v in\n%s", err, c.client)
	}
	want, notes := lossy(client.Name(), c.said)
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("written (-decoded +read):\n%s\n%s", diff, c.client)
	}
	if notes != nil {
		return outcome{"approximated", notes}
	}
	return outcome{word: "mapped"}
}

// lossy is what remains of an answer in a dialect that has no word for some of it.
func lossy(client string, s said) (said, []string) {
	var notes []string
	if client != "anthropic" && s.finish == sdk.ReasonStopText {
		s.finish = sdk.ReasonStop
		notes = append(notes, "an answer's end at a stop text is a natural end to the client")
	}
	if client == "gemini" && s.usage.CacheWrite > 0 {
		s.usage.Input, s.usage.CacheWrite = s.usage.Input+s.usage.CacheWrite, 0
		notes = append(notes, "tokens written to a cache are counted as input")
	}
	return s, notes
}

// passed makes a cell of answers that pass: the observer must have read off them what they say.
func passed(t *testing.T, client dialect.Dialect, a answer, s *said) {
	t.Helper()
	o := client.NewObserver(dialect.ObserverOptions{Stream: a.stream})
	content := false
	if !a.stream {
		content = o.Whole([]byte(a.body)).Content
	} else {
		sp := splitter(a.framing)
		sp.Feed([]byte(a.body))
		for f, ok, err := sp.Next(); ok && err == nil; f, ok, err = sp.Next() {
			seen := o.Frame(&f)
			content = content || seen.Content
			if seen.Failure != nil {
				s.failure = seen.Failure
				return
			}
		}
	}
	if !content {
		t.Error("no content was seen")
	}
	s.finish, s.usage = o.Finish(), o.Usage()
}

// refused makes a cell of refusals by status: the client's own reader must see the same kind of failure.
func (s *service) refused(t *testing.T, all map[string]*service, client dialect.Dialect, line string) outcome {
	t.Helper()
	code, body, _ := strings.Cut(strings.TrimSpace(line), " ")
	status, err := strconv.Atoi(code)
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) []byte { return nil }
	classify := func(s *service, status int, body string) *sdk.Failure {
		c, err := fault.NewClassifier(s.manifest.Errors)
		if err != nil {
			t.Fatal(err)
		}
		return c.Classify(status, []byte(body), none, time.Unix(1760000000, 0))
	}
	f := classify(s, status, body)
	out := client.AppendError(nil, f, "req_1")
	again := classify(all[client.Name()], client.Status(f), string(out))
	if f.Kind != sdk.UpstreamRate || again.Kind != f.Kind || !strings.Contains(again.Message, f.Message) {
		t.Errorf("%s becomes %s %q, and to the client %d %s: %s %q", line, f.Kind, f.Message, client.Status(f), out, again.Kind, again.Message)
	}
	return s.way(client)
}

// way is the outcome of what reaches the client with nothing lost.
func (s *service) way(client dialect.Dialect) outcome {
	if client.Name() == s.native {
		return outcome{word: "native"}
	}
	return outcome{word: "mapped"}
}

// broken makes a cell of streams that end in an error after their first words.
func (s *service) broken(t *testing.T, all map[string]*service, client dialect.Dialect, a answer) outcome {
	t.Helper()
	c, err := s.carry(a, nil, client, true)
	if err != nil {
		t.Fatal(err)
	}
	if c.said.failure == nil || c.said.text != "So far " {
		t.Fatalf("decoded as %s", &c.said)
	}
	got, err := read(all, client.Name(), c.client, true)
	if err != nil {
		t.Fatalf("%v in\n%s", err, c.client)
	}
	if got.text != "So far " || got.failure == nil || got.failure.Message != c.said.failure.Message || got.done {
		t.Errorf("written for the client:\n%s\nread as %s", c.client, &got)
	}
	return s.way(client)
}

// observed makes one cell of answers that pass.
func (s *service) observed(t *testing.T, client dialect.Dialect, a answer, says string) outcome {
	t.Helper()
	var got said
	if err := s.decode(a, nil, got.put); err != nil {
		t.Fatal(err)
	}
	passed(t, client, a, &got)
	if diff := cmp.Diff(says, got.String()); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	return outcome{word: "native"}
}
