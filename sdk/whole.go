package sdk

import (
	"bytes"
	"fmt"
	"iter"
)

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
		return fmt.Errorf("answer %.40q: want JSON", f.Text)
	}
	return nil
}

// End has nothing to add.
func (*whole) End(*Events) error { return nil }

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
