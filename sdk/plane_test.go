package sdk

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/sdk/wire"
)

// echo is a provider that writes what it is asked, and reads what says "text".
type echo struct{}

func (echo) Manifest() Manifest { return Manifest{Name: "echo", Version: "1"} }

func (echo) Encode(q *Request, p *Plan) error {
	if q.Model == "panic" {
		panic("as asked")
	}
	switch q.Model {
	case "lacks":
		return &Inexpressible{What: "everything", Path: "messages"}
	case "invalid":
		return &Invalid{Path: "tools[0]", Message: "no name"}
	case "fails":
		return &Failure{Kind: UpstreamModel, Message: "gone", Code: "model_retired", RetryAfter: time.Second, Body: []byte("x")}
	case "large":
		p.Body.String(strings.Repeat("x", wire.MaxBody))
		return nil
	}
	p.Path = "/echo"
	w := &p.Body
	w.Object()
	w.Name("model").String(q.Model)
	w.Name("texts").Array()
	for _, m := range q.Messages {
		for _, part := range m.Parts {
			w.Text(part.Text)
			if part.Call != nil {
				w.Value(part.Call.Arguments)
				w.Text(part.Call.Arguments.Text())
			}
		}
	}
	w.EndArray()
	w.EndObject()
	return nil
}

func (echo) NewDecoder(AnswerInfo) Decoder { return &echoDecoder{} }

type echoDecoder struct{ n int64 }

func (d *echoDecoder) Decode(f *Frame, out *Events) error {
	if f.Doc == nil {
		if string(f.Text) == "panic" {
			panic("as asked")
		}
		out.Add(Done)
		return nil
	}
	d.n++
	root := f.Doc.Root()
	out.Text(0, root.Get("text").Text())
	if v := root.Get("value"); v.Exists() {
		out.Add(Foreign).Value = v.Value()
		e := out.Add(ToolInput)
		e.Text = v.Value().Text()
	}
	if v := root.Get("json"); v.Exists() {
		out.Add(Foreign).Value = v.Text().JSON()
	}
	return nil
}

func (d *echoDecoder) End(out *Events) error {
	out.Add(UsageSeen).Usage = Usage{Output: d.n, Known: true}
	return nil
}

// limit is how long a write or a call may take: the machine may be busy.
const limit = 20 * time.Second

// caller serves p over a socket pair and gives the asking side.
func caller(t testing.TB, p Provider) *wire.Caller {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	conns := make([]net.Conn, 2)
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if conns[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	ended := make(chan error, 1)
	go func() { ended <- ServeConn(p, conns[0]) }()
	c := wire.NewCaller(conns[1], limit)
	t.Cleanup(func() {
		c.Close()
		if err := <-ended; err != nil {
			t.Errorf("plugin's side: %v", err)
		}
	})
	return c
}

func ask(t testing.TB, c *wire.Caller, f wire.Frame) (wire.Op, []byte) {
	t.Helper()
	op, body, err := c.Call(f, nil, limit)
	if err != nil {
		t.Fatal(err)
	}
	return op, body
}

func TestEncodeOverSocket(t *testing.T) {
	c := caller(t, echo{})
	long := strings.Repeat("grüße ", 100)
	arguments := `{"q":"` + strings.Repeat("a\\n", 200) + `"}`
	q := &Request{Model: "m", Messages: []Message{{Role: User, Parts: []Part{
		{Kind: PartText, Text: T("hi")},
		{Kind: PartText, Text: T(long)},
		{Kind: PartCall, Call: &Call{Arguments: RawValue([]byte(arguments))}},
	}}}}
	var h Held
	message, err := h.AppendRequest(nil, q)
	if err != nil {
		t.Fatal(err)
	}
	if len(message) > 512 {
		t.Errorf("message has %d bytes: the long texts crossed", len(message))
	}
	op, body := ask(t, c, wire.Frame{Op: wire.Encode, Body: message})
	if op != wire.Plan {
		t.Fatalf("answer %d: %v", op, ReadFault(body))
	}
	var r ResolvedPlan
	if err := h.ReadPlan(body, &r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Model string
		Texts []any
	}
	var text []byte
	for _, s := range r.Segments {
		text = append(text, s...)
	}
	if int64(len(text)) != r.Length {
		t.Errorf("length %d, want %d", r.Length, len(text))
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if got.Model != "m" || len(got.Texts) != 5 || got.Texts[1] != long || got.Texts[4] != arguments {
		t.Errorf("got %+v", got)
	}
}

func TestFaults(t *testing.T) {
	c := caller(t, echo{})
	for _, tt := range []struct {
		model string
		want  error
	}{
		{"lacks", &Inexpressible{What: "everything", Path: "messages"}},
		{"invalid", &Invalid{Path: "tools[0]", Message: "no name"}},
		{"fails", &Failure{Kind: UpstreamModel, Message: "gone", Code: "model_retired", RetryAfter: time.Second, Body: []byte("x")}},
		{"panic", &PluginError{Text: "panic: as asked"}},
		{"large", &PluginError{Text: "answer of 4194323 bytes: want 4194304 at most"}},
	} {
		t.Run(tt.model, func(t *testing.T) {
			var h Held
			message, err := h.AppendRequest(nil, &Request{Model: tt.model})
			if err != nil {
				t.Fatal(err)
			}
			op, body := ask(t, c, wire.Frame{Op: wire.Encode, Body: message})
			if got := ReadFault(body); op != wire.Fault || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got op %d, %#v; want %#v", op, got, tt.want)
			}
		})
	}
}

func TestReadFaultRefuses(t *testing.T) {
	for _, b := range [][]byte{nil, {4}, {0, 5, 'a'}, {1, 1, 'a'}, append(appendFault(nil, Fail(BadKey, "x")), 0), appendFault(nil, &Failure{})} {
		switch err := ReadFault(b).(type) {
		case nil, *PluginError, *Inexpressible, *Invalid, *Failure:
			t.Errorf("%v: accepted as %#v", b, err)
		}
	}
}

// streamOf is one answer on the asking side.
type streamOf struct {
	c      *wire.Caller
	id     uint32
	opened bool
	answer Answer
}

func (s *streamOf) ask(t testing.TB, op wire.Op, frames ...RawFrame) (wire.Op, []byte) {
	t.Helper()
	f := wire.Frame{Op: op, Stream: s.id}
	if !s.opened {
		s.opened, f.Flags, f.Body = true, wire.Opens, AppendInfo(nil, AnswerInfo{Model: "m", Stream: true})
	}
	if op == wire.Decode {
		f.Body = s.answer.AppendFrames(f.Body, frames)
	}
	return ask(t, s.c, f)
}

func (s *streamOf) events(t testing.TB, op wire.Op, frames ...RawFrame) []Event {
	t.Helper()
	answer, body := s.ask(t, op, frames...)
	if answer != wire.Events {
		t.Fatalf("answer %d: %v", answer, ReadFault(body))
	}
	events, err := s.answer.ReadEvents(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestStreams interleaves the answers of many streams, some with frames that leave their long strings behind.
func TestStreams(t *testing.T) {
	for _, p := range []Provider{echo{}, blocking{}} {
		c := caller(t, p)
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				s := &streamOf{c: c, id: c.NextStream()}
				for i := range 20 {
					word := strings.Repeat(string(rune('a'+n)), 1+i*i*20)
					got := s.events(t, wire.Decode, RawFrame{Data: []byte(`{"text":"` + word + `"}`)}, RawFrame{Event: "x",
						Data: []byte(`{"value":{"a":"` + word + `"},"json":"[\"` + word + `\"]"}`)})
					want := []Event{{Kind: TextDelta, Text: T(word)}, {Kind: Foreign, Value: RawValue([]byte(`{"a":"` + word + `"}`))},
						{Kind: ToolInput, Text: T(`{"a":"` + word + `"}`)}, {Kind: Foreign, Value: RawValue([]byte(`["` + word + `"]`))}}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("stream %d, message %d: got %v, want %v", n, i, got, want)
						return
					}
				}
				if got := s.events(t, wire.Decode, RawFrame{Data: []byte("[DONE]")}); len(got) != 1 || got[0].Kind != Done {
					t.Errorf("end mark: %+v", got)
				}
				if got := s.events(t, wire.End); len(got) != 1 || got[0].Usage.Output != 40 {
					t.Errorf("end: %+v", got)
				}
			})
		}
		wg.Wait()
	}
}

// blocking is echo, each call on a goroutine of its own.
type blocking struct{ echo }

func (blocking) Manifest() Manifest { return Manifest{Name: "blocking", Version: "1", MayBlock: true} }

func TestStreamFaults(t *testing.T) {
	c := caller(t, echo{})
	wantFault := func(op wire.Op, body []byte, want string) {
		t.Helper()
		if op != wire.Fault || !strings.Contains(ReadFault(body).Error(), want) {
			t.Errorf("got op %d, %q; want %q", op, body, want)
		}
	}
	op, body := ask(t, c, wire.Frame{Op: wire.Decode, Stream: 99, Body: []byte{0}})
	wantFault(op, body, errNoStream.Error())
	op, body = ask(t, c, wire.Frame{Op: wire.Decode, Stream: 98, Flags: wire.Opens})
	wantFault(op, body, "ends too early")

	s := &streamOf{c: c, id: c.NextStream()}
	op, body = s.ask(t, wire.Decode, RawFrame{Data: []byte("panic")})
	wantFault(op, body, "panic: as asked")
	s.events(t, wire.Decode, RawFrame{Data: []byte("{}")}) // the process and the stream are still there
	s.opened = false
	op, body = s.ask(t, wire.Decode)
	wantFault(op, body, "opened before")
	s.opened = true
	if err := c.Post(wire.Drop, s.id); err != nil {
		t.Fatal(err)
	}
	op, body = s.ask(t, wire.Decode)
	wantFault(op, body, errNoStream.Error())

	alone := &streamOf{c: c, id: c.NextStream()} // an answer of no frames
	if got := alone.events(t, wire.End); len(got) != 1 {
		t.Errorf("end alone: %+v", got)
	}
	op, body = alone.ask(t, wire.End)
	wantFault(op, body, errNoStream.Error())
}

// TestServeArguments runs the program of a plugin.
func TestServeArguments(t *testing.T) {
	for _, tt := range []struct {
		arg, out, err string
	}{
		{"describe", `"name": "echo"`, ""},
		{"describe", `"protocol": 1`, ""},
		{"help", "", `argument "help": want describe`},
		{"", "", "which starts it"},
	} {
		var args []string
		if tt.arg != "" {
			args = []string{tt.arg}
		}
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "SDK_TEST_SERVE=1")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if (err == nil) != (tt.err == "") || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
			t.Errorf("%q: %v\nstdout %s\nstderr %s", tt.arg, err, &out, &errs)
		}
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("SDK_TEST_SERVE") != "" {
		Serve(echo{})
	}
	goleak.VerifyTestMain(m)
}

func BenchmarkEncode(b *testing.B) {
	for _, bb := range []struct {
		name string
		size int
	}{{"1KB", 200}, {"1MB", 1 << 20}} {
		b.Run(bb.name, func(b *testing.B) {
			c := caller(b, echo{})
			q := &Request{Model: "m"}
			for range 5 {
				q.Messages = append(q.Messages, Message{Role: User, Parts: []Part{{Kind: PartText, Text: T(strings.Repeat("x", bb.size))}}})
			}
			var h Held
			var message, reply []byte
			var r ResolvedPlan
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if message, err = h.AppendRequest(message[:0], q); err != nil {
					b.Fatal(err)
				}
				if _, reply, err = c.Call(wire.Frame{Op: wire.Encode, Body: message}, reply, time.Minute); err != nil {
					b.Fatal(err)
				}
				if err := h.ReadPlan(reply, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	c := caller(b, echo{})
	s := &streamOf{c: c, id: c.NextStream()}
	frames := make([]RawFrame, 16)
	for i := range frames {
		frames[i].Data = []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","text":" some words","finish_reason":null}`)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.events(b, wire.Decode, frames...)
	}
}
