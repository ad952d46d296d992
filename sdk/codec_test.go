package sdk

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// exact compares all members, those that are not exported too.
var exact = cmp.Exporter(func(reflect.Type) bool { return true })

// crossing is a type of the model and how it crosses.
type crossing struct {
	name string
	zero any
	code func(c *coder, p any)
}

func crossingOf[T any](code func(*coder, *T)) crossing {
	var zero T
	return crossing{reflect.TypeFor[T]().Name(), zero, func(c *coder, p any) { code(c, p.(*T)) }}
}

// crossings are the types that messages consist of.
var crossings = []crossing{
	crossingOf((*coder).request),
	crossingOf((*coder).plan),
	crossingOf((*coder).event),
	crossingOf((*coder).failure),
	crossingOf((*coder).info),
	crossingOf((*coder).gap),
}

// roundTrip writes and reads a value and wants it back. The bytes of what is read must be those that were written.
func (x crossing) roundTrip(t failer, in reflect.Value) {
	t.Helper()
	w := coder{facts: true}
	x.code(&w, in.Interface())
	r := coder{b: w.b, reading: true}
	out := reflect.New(in.Type().Elem())
	x.code(&r, out.Interface())
	if err := r.end(x.name); err != nil {
		t.Fatalf("%v\nof %+v", err, in.Elem())
	}
	if d := cmp.Diff(in.Interface(), out.Interface(), exact); d != "" {
		t.Fatalf("%s: (-written +read)\n%s", x.name, d)
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func TestCodecEveryMember(t *testing.T) {
	for _, x := range crossings {
		t.Run(x.name, func(t *testing.T) {
			v := reflect.New(reflect.TypeOf(x.zero))
			fill(v.Elem(), &full{deepest: 6})
			x.roundTrip(t, v)
		})
	}
}

func TestCodecRoundTrip(t *testing.T) {
	for _, x := range crossings {
		t.Run(x.name, rapid.MakeCheck(func(t *rapid.T) {
			v := reflect.New(reflect.TypeOf(x.zero))
			fill(v.Elem(), &drawn{t: t})
			x.roundTrip(t, v)
		}))
	}
}

// TestCodecCut wants each beginning of a message refused, and nothing read from it to be a panic.
func TestCodecCut(t *testing.T) {
	for _, x := range crossings {
		v := reflect.New(reflect.TypeOf(x.zero))
		fill(v.Elem(), &full{deepest: 3})
		w := coder{facts: true}
		x.code(&w, v.Interface())
		for n := range w.b {
			r := coder{b: w.b[:n], reading: true}
			x.code(&r, reflect.New(v.Type().Elem()).Interface())
			if r.end(x.name) == nil {
				t.Errorf("%s: the first %d of %d bytes are accepted", x.name, n, len(w.b))
			}
		}
	}
}

// source says what a filled member becomes.
type source interface {
	number(limit uint64) uint64
	text() string
	flip() bool
	count() int // of a list
	enter() bool
	leave()
}

// full fills every member with something that is not zero.
type full struct{ depth, deepest int }

func (f *full) number(limit uint64) uint64 { return min(7, limit) }
func (f *full) text() string               { return "x" }
func (f *full) flip() bool                 { return true }
func (f *full) count() int                 { return 2 }
func (f *full) enter() bool                { f.depth++; return f.depth <= f.deepest }
func (f *full) leave()                     { f.depth-- }

// drawn fills at random.
type drawn struct {
	t     *rapid.T
	depth int
}

func (d *drawn) number(limit uint64) uint64 { return rapid.Uint64Range(0, limit).Draw(d.t, "number") }
func (d *drawn) text() string               { return rapid.StringN(0, 5, 20).Draw(d.t, "text") }
func (d *drawn) flip() bool                 { return rapid.Bool().Draw(d.t, "flip") }
func (d *drawn) count() int                 { return rapid.IntRange(0, 3).Draw(d.t, "count") }
func (d *drawn) enter() bool                { d.depth++; return d.depth < 4 }
func (d *drawn) leave()                     { d.depth-- }

// fill sets all members of a value. A kind of member that it does not know fails loudly.
func fill(v reflect.Value, s source) {
	switch p := v.Addr().Interface().(type) {
	case *Text:
		p.span = fillSpan(s)
		return
	case *Value:
		p.span = fillSpan(s)
		return
	case *Writer:
		p.lit = []byte(s.text() + "[]")
		p.segs = []Segment{{To: len(p.lit)}, {From: 1, To: 3, Handle: 5, Form: 1}}
		p.mark = len(p.lit)
		return
	case *time.Duration:
		*p = time.Duration(s.number(math.MaxInt64))
		return
	case *[]byte:
		if text := s.text(); text != "" {
			*p = []byte(text)
		}
		return
	}
	fillKind(v, s)
}

func fillKind(v reflect.Value, s source) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	case reflect.Slice:
		if n := s.count(); n > 0 && s.enter() {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(v.Index(i), s)
			}
			s.leave()
		} else if n > 0 {
			s.leave()
		}
	case reflect.Pointer:
		if s.enter() && s.flip() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), s)
		}
		s.leave()
	case reflect.String:
		v.SetString(s.text())
	case reflect.Bool:
		v.SetBool(s.flip())
	case reflect.Int, reflect.Int64:
		n := int64(s.number(math.MaxUint64))
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(s.number(1<<v.Type().Bits() - 1))
	default:
		panic("the codec's test cannot fill " + v.Type().String())
	}
}

// fillSpan gives an absent, inline or held span.
func fillSpan(s source) span {
	kind := s.number(3)
	switch kind {
	case 0:
		return span{}
	case 1:
		return span{raw: []byte(s.text())}
	}
	from := uint32(s.number(1 << 20))
	h := span{handle: 1 + uint32(s.number(1<<20)), from: from, to: from + uint32(s.number(1<<20)), form: form(s.number(2))}
	if kind == 3 {
		h.facts = new(Facts)
		fill(reflect.ValueOf(h.facts).Elem(), s)
	}
	return h
}

func TestCodecRefuses(t *testing.T) {
	read := func(b []byte, code func(*coder)) string {
		c := coder{b: b, reading: true}
		code(&c)
		if err := c.end("message"); err != nil {
			return err.Error()
		}
		return ""
	}
	span := func(c *coder) { c.text(new(Text)) }
	for _, tt := range []struct {
		name string
		in   []byte
		code func(*coder)
		want string
	}{
		{"left over", []byte{0, 0}, span, "1 bytes are left over"},
		{"kind of span", []byte{4}, span, "span of kind 4"},
		{"handle 0", []byte{2, 0, 0, 0, 0}, span, "no such range"},
		{"backward range", []byte{2, 1, 5, 4, 0}, span, "no such range"},
		{"form", []byte{2, 1, 0, 4, 3}, span, "no such range"},
		{"long varint", []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, span, "ends too early"},
		{"truth", []byte{2}, func(c *coder) { c.bool(new(bool)) }, "want 0 or 1"},
		{"narrow", []byte{128, 2}, func(c *coder) { unsigned(c, new(uint8)) }, "too large"},
		{"huge list", []byte{255, 255, 255, 255, 15}, func(c *coder) { list(c, new([]Text), (*coder).text) }, "ends too early"},
		{"huge string", []byte{255, 255, 255, 255, 15}, func(c *coder) { c.string(new(string)) }, "ends too early"},
		{"event mask", []byte{1, 255, 255, 3}, func(c *coder) { c.event(new(Event)) }, "event with members 0xffff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(tt.in, tt.code); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}

// TestCodecNesting wants parts within parts refused before the stack grows.
func TestCodecNesting(t *testing.T) {
	var b []byte
	for range 10000 {
		b = append(b, byte(PartResult), 0, 0, 0, 0, 1, 0, 0, 1) // a result of one part
	}
	c := coder{b: b, reading: true}
	c.part(new(Part))
	if err := c.end("part"); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("got %v", err)
	}
}

// FuzzMessages reads arbitrary bytes as every kind of message.
func FuzzMessages(f *testing.F) {
	for _, x := range crossings {
		v := reflect.New(reflect.TypeOf(x.zero))
		fill(v.Elem(), &full{deepest: 3})
		w := coder{facts: true}
		x.code(&w, v.Interface())
		f.Add(w.b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, x := range crossings {
			c := coder{b: b, reading: true}
			x.code(&c, reflect.New(reflect.TypeOf(x.zero)).Interface())
		}
		held := Held{spans: []heldSpan{{raw: []byte("some text")}, {raw: []byte(`{"a":1}`), value: true}}}
		var plan ResolvedPlan
		_ = held.ReadPlan(b, &plan)
		_, _ = new(Answer).ReadEvents(b, nil)
		_ = ReadFault(b)
		_ = (&stream{dec: &echoDecoder{}}).frames(b)
	})
}

// TestSchemasCross sees which schemas a plugin is shown: those that it may have to change, up to a bound.
func TestSchemasCross(t *testing.T) {
	long := func(word string, n int) Value {
		return RawValue([]byte(`{` + word + `:"` + strings.Repeat("x", n) + `"}`))
	}
	yes := RawValue([]byte("true"))
	tests := []struct {
		name  string
		tool  Tool
		shown bool
	}{
		{"plain", Tool{Parameters: long(`"title"`, 300)}, false},
		{"strict", Tool{Parameters: long(`"title"`, 300), Strict: yes}, true},
		{"with references", Tool{Parameters: long(`"$ref"`, 300)}, true},
		{"with a constant", Tool{Parameters: long(`"const"`, 300)}, true},
		{"over the bound", Tool{Parameters: long(`"$ref"`, maxSchemas)}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var h Held
			b, err := h.AppendRequest(nil, &Request{Tools: []Tool{test.tool, test.tool}})
			if err != nil {
				t.Fatal(err)
			}
			got := new(Request)
			r := coder{b: b, reading: true}
			r.request(got)
			if err := r.end("request"); err != nil {
				t.Fatal(err)
			}
			for i := range got.Tools {
				if shown := !got.Tools[i].Parameters.Held(); shown != test.shown {
					t.Errorf("tool %d: shown is %t, want %t", i, shown, test.shown)
				}
			}
		})
	}
}
