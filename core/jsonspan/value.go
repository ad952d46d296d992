package jsonspan

import (
	"iter"
	"strconv"
	"unicode/utf8"
)

// Kind returns the kind of node i.
func (d *Doc) Kind(i int) Kind { return d.Nodes[i].Kind }

// Raw returns the bytes of value i: a sub-slice of Body.
func (d *Doc) Raw(i int) []byte {
	n := &d.Nodes[i]
	return d.Body[n.Off:n.End:n.End]
}

// Inner returns the bytes between the quotes of string i, still escaped: a sub-slice of Body, and nil for other kinds.
func (d *Doc) Inner(i int) []byte {
	n := &d.Nodes[i]
	if n.Kind != String {
		return nil
	}
	return d.Body[n.Off+1 : n.End-1 : n.End-1]
}

// Text returns the text of string i, and "" for other kinds. Escaped lone surrogates become U+FFFD.
func (d *Doc) Text(i int) string {
	if d.Nodes[i].Flags&Escaped == 0 {
		return string(d.Inner(i))
	}
	inner := d.Inner(i)
	return string(appendUnescaped(make([]byte, 0, len(inner)), inner))
}

// AppendText appends the text of string i to dst: nothing for other kinds.
func (d *Doc) AppendText(dst []byte, i int) []byte {
	if d.Nodes[i].Flags&Escaped == 0 {
		return append(dst, d.Inner(i)...)
	}
	return appendUnescaped(dst, d.Inner(i))
}

// Is reports whether i is a string whose text is s. It does not allocate.
func (d *Doc) Is(i int, s string) bool {
	n := &d.Nodes[i]
	if n.Kind != String {
		return false
	}
	inner := d.Body[n.Off+1 : n.End-1]
	if n.Flags&Escaped == 0 {
		return string(inner) == s
	}
	for len(inner) > 0 && s != "" {
		r, size := firstRune(inner)
		c, width := utf8.DecodeRuneInString(s)
		if r != c || c == utf8.RuneError && width == 1 {
			return false
		}
		inner, s = inner[size:], s[width:]
	}
	return len(inner) == 0 && s == ""
}

// Int returns the number i where it is an integer in form, without fraction and exponent, that fits.
func (d *Doc) Int(i int) (int64, bool) {
	if n := &d.Nodes[i]; n.Kind != Number || n.Flags&Integer == 0 {
		return 0, false
	}
	v, err := strconv.ParseInt(string(d.Raw(i)), 10, 64)
	return v, err == nil
}

// Float returns the number i, rounded to the nearest float64: false where it overflows.
func (d *Doc) Float(i int) (float64, bool) {
	if d.Nodes[i].Kind != Number {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(d.Raw(i)), 64)
	return v, err == nil
}

// Bool returns the value of i where it is true or false.
func (d *Doc) Bool(i int) (v, ok bool) {
	k := d.Nodes[i].Kind
	return k == True, k == True || k == False
}

// Member finds the value of the object's member with that name. The name is compared with the member's text, so
// "mod\u0065l" is model, and case counts.
func (d *Doc) Member(obj int, name string) (val int, ok bool) {
	if d.Nodes[obj].Kind != Object {
		return 0, false
	}
	for key, end := obj+1, int(d.Nodes[obj].Next); key < end; key = int(d.Nodes[key+1].Next) {
		if d.Is(key, name) {
			val, ok = key+1, true
			if !d.lastWins {
				break
			}
		}
	}
	return val, ok
}

// Find follows names from value to value, each a member of the one before.
func (d *Doc) Find(from int, names ...string) (val int, ok bool) {
	val = from
	for _, name := range names {
		if val, ok = d.Member(val, name); !ok {
			return 0, false
		}
	}
	return val, true
}

// Members yields the nodes of name and value of each member, in the order of the text. Other kinds have none.
func (d *Doc) Members(obj int) iter.Seq2[int, int] {
	return func(yield func(key, val int) bool) {
		if d.Nodes[obj].Kind != Object {
			return
		}
		for key, end := obj+1, int(d.Nodes[obj].Next); key < end; key = int(d.Nodes[key+1].Next) {
			if !yield(key, key+1) {
				return
			}
		}
	}
}

// Items yields the elements of an array. Other kinds have none.
func (d *Doc) Items(arr int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if d.Nodes[arr].Kind != Array {
			return
		}
		for i, end := arr+1, int(d.Nodes[arr].Next); i < end; i = int(d.Nodes[i].Next) {
			if !yield(i) {
				return
			}
		}
	}
}

// Len counts the members of an object or the elements of an array, by walking over them. Other kinds have none.
func (d *Doc) Len(i int) int {
	n := 0
	for range d.Items(i) {
		n++
	}
	for range d.Members(i) {
		n++
	}
	return n
}
