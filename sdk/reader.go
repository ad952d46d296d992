package sdk

import (
	"bytes"
	"iter"
	"sort"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Doc is one JSON text of an answer, read in place. Where the text is large the plugin has its skeleton: long strings
// are gaps, which [Node.Text] and [Node.Value] give as held.
type Doc struct {
	doc    jsonspan.Doc
	handle uint32
	gaps   []Gap
}

// Gap is a long string that is missing from a skeleton.
type Gap struct {
	At    uint32 // where its content would begin in the skeleton
	Orig  uint32 // where its content begins in the original text
	Facts Facts
}

// Node is a value in a [Doc]. The zero Node is absent: everything read from it is absent too.
type Node struct {
	doc *Doc
	i   int
}

// Parse reads a whole text, which is kept until the next Parse.
func (d *Doc) Parse(text []byte) error { return d.ParseSkeleton(text, 0, nil) }

// ParseSkeleton reads a skeleton; gaps are in the order of the text, handle names the original. All is kept until the
// next call.
func (d *Doc) ParseSkeleton(text []byte, handle uint32, gaps []Gap) error {
	d.handle, d.gaps = handle, gaps
	return d.doc.Parse(text, jsonspan.Limits{AllowDuplicates: true})
}

// Root is the whole text's value.
func (d *Doc) Root() Node {
	if len(d.doc.Nodes) == 0 {
		return Node{}
	}
	return Node{d, 0}
}

// Exists says whether the node is there; null is.
func (n Node) Exists() bool { return n.doc != nil }

// Kind is the JSON kind; 0 where the node is absent.
func (n Node) Kind() jsonspan.Kind {
	if n.doc == nil {
		return 0
	}
	return n.doc.doc.Kind(n.i)
}

// Null says whether the node is absent or null.
func (n Node) Null() bool { return n.doc == nil || n.Kind() == jsonspan.Null }

// Get gives a member of an object.
func (n Node) Get(name string) Node {
	if n.Kind() != jsonspan.Object {
		return Node{}
	}
	i, ok := n.doc.doc.Member(n.i, name)
	if !ok {
		return Node{}
	}
	return Node{n.doc, i}
}

// At gives a nested member.
func (n Node) At(names ...string) Node {
	for _, name := range names {
		n = n.Get(name)
	}
	return n
}

// Items gives the items of an array.
func (n Node) Items() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.Kind() != jsonspan.Array {
			return
		}
		for i := range n.doc.doc.Items(n.i) {
			if !yield(Node{n.doc, i}) {
				return
			}
		}
	}
}

// Members gives the names and values of an object.
func (n Node) Members() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		if n.Kind() != jsonspan.Object {
			return
		}
		for k, v := range n.doc.doc.Members(n.i) {
			if !yield(n.doc.doc.Text(k), Node{n.doc, v}) {
				return
			}
		}
	}
}

// Len is the number of items or members.
func (n Node) Len() int {
	if n.doc == nil {
		return 0
	}
	return n.doc.doc.Len(n.i)
}

// Is says whether the node is the string s.
func (n Node) Is(s string) bool { return n.doc != nil && n.doc.doc.Is(n.i, s) }

// Str is a short string decoded; "" for anything else, and for a gap.
func (n Node) Str() string {
	if n.Kind() != jsonspan.String {
		return ""
	}
	return n.doc.doc.Text(n.i)
}

// Int is an integer; 0 for anything else.
func (n Node) Int() int64 {
	if n.doc == nil {
		return 0
	}
	v, ok := n.doc.doc.Int(n.i)
	if !ok {
		if f, ok := n.doc.doc.Float(n.i); ok && f == float64(int64(f)) {
			return int64(f)
		}
	}
	return v
}

// True says whether the node is true.
func (n Node) True() bool { return n.Kind() == jsonspan.True }

// Text is a string's content, inline or held; absent for anything else.
func (n Node) Text() Text {
	if n.Kind() != jsonspan.String {
		return Text{}
	}
	node := n.doc.doc.Nodes[n.i]
	if g := n.doc.gapFrom(node.Off); g != nil && g.At == node.Off+1 {
		return Text{span{handle: n.doc.handle, from: g.Orig, to: g.Orig + uint32(g.Facts.Len), facts: &g.Facts}}
	}
	return RawText(n.doc.doc.Inner(n.i))
}

// Value is the node's JSON text, inline or held; absent for an absent node and for null.
func (n Node) Value() Value {
	if n.Null() {
		return Value{}
	}
	node := n.doc.doc.Nodes[n.i]
	if g := n.doc.gapFrom(node.Off); g != nil && g.At < node.End {
		return Value{span{handle: n.doc.handle, from: n.doc.original(node.Off), to: n.doc.original(node.End)}}
	}
	return RawValue(n.doc.doc.Raw(n.i))
}

// gapFrom gives the first gap at or after an offset of the skeleton.
func (d *Doc) gapFrom(off uint32) *Gap {
	i := sort.Search(len(d.gaps), func(i int) bool { return d.gaps[i].At >= off })
	if i == len(d.gaps) {
		return nil
	}
	return &d.gaps[i]
}

// original turns an offset of the skeleton, which no gap begins at, into one of the original.
func (d *Doc) original(off uint32) uint32 {
	i := sort.Search(len(d.gaps), func(i int) bool { return d.gaps[i].At >= off })
	if i == 0 {
		return off
	}
	g := d.gaps[i-1]
	return g.Orig + uint32(g.Facts.Len) + (off - g.At)
}

// Each gives a member of each of an array's items.
func Each(items iter.Seq[Node], names ...string) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for n := range items {
			if !yield(n.At(names...)) {
				return
			}
		}
	}
}

// Whole makes the decoder of an answer that is never streamed: read gets the one JSON body. A body that is an error is its
// to recognise.
func Whole(read func(root Node, out *Events) error) Decoder { return &whole{read: read} }

type whole struct {
	read func(Node, *Events) error
	over bool
}

// Decode reads the body.
func (w *whole) Decode(f *Frame, out *Events) error {
	switch {
	case w.over:
		return nil
	case f.Doc != nil:
		w.over = true
		return w.read(f.Doc.Root(), out)
	case len(bytes.TrimSpace(f.Text)) > 0:
		w.over = true
		out.Add(Failed).Failure = *NotJSON()
	}
	return nil
}

// End has nothing to add.
func (*whole) End(*Events) error { return nil }

// NotJSON is the failure of an answer, or of a piece of one, that is no JSON although its dialect has nothing else. A
// decoder tells it as an event: the fault is the provider's, while an error of Decode is the plugin's own.
func NotJSON() *Failure { return Fail(UpstreamError, "the provider's answer is not JSON") }

// Vectors adds all events of an answer to a request for embeddings: the vectors in the order of the inputs, and how many
// tokens the inputs had, 0 where that is not said.
func (o *Events) Vectors(model Text, vectors iter.Seq[Node], tokens int64) {
	o.Add(Begin).Name = model
	n := 0
	for v := range vectors {
		e := o.Add(Embedding)
		e.Choice, e.Value = n, v.Value()
		n++
	}
	if tokens > 0 {
		o.Add(UsageSeen).Usage = UsageWithin(Counts{Input: tokens})
	}
	o.Add(Finish).Reason = ReasonStop
	o.Add(Done)
}
