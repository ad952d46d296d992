package sdk

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-gateway/penstock/sdk/wire"
)

// echo is a provider that writes what it is asked, and reads what says "text".
type echo struct{}

func (echo) Manifest() Manifest { return Manifest{Name: "echo", Version: "1"} }

func (echo) Encode(q *Request, p *Plan) error {
	if q.Model == "panic" {
		panic("as asked")
	}
	if q.Model == "lacks" {
		return &Inexpressible{What: "everything", Path: "messages"}
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
	c := wire.NewCaller(conns[1], time.Second)
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
	op, body, err := c.Call(f, nil, 5*time.Second)
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
