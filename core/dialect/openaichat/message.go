package openaichat

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// message is where a choice of a whole answer holds its content.
func (o *observer) message(choice int) (int, bool) { return member(o.doc, choice, "message") }

// delta is where a choice of a chunk holds what it adds. Some services have a message in its place, which clients do not
// look at: it is sent to them as a delta. One that comes after deltas only repeats them, as MiniMax ends its streams, and
// becomes an empty one. A message beside a delta (Perplexity) is left alone.
func (o *observer) delta(choice int) (int, bool) {
	d := o.doc
	if m, ok := member(d, choice, "delta"); ok {
		o.deltas = o.deltas || says(d, m)
		return m, true
	}
	m, ok := o.message(choice)
	if !ok || d.Kind(m) != jsonspan.Object {
		return 0, false
	}
	for k, v := range d.Members(choice) {
		switch {
		case d.Is(k, "delta"): // null
			o.edits = append(o.edits, d.Delete(choice, k))
		case v == m:
			o.edits = append(o.edits, d.Replace(k, deltaName))
		}
	}
	if o.deltas {
		o.edits = append(o.edits, d.Replace(m, emptyObject))
		return 0, false
	}
	o.messages = true
	o.number(m)
	return m, true
}

// What messages are edited with. They are constants that Go cannot say.
var (
	deltaName   = []byte(`"delta"`)
	emptyObject = []byte(`{}`)
)

// number gives the tool calls of a message the indexes that those of deltas have: clients put the pieces of calls together
// by them.
func (o *observer) number(m int) {
	calls, ok := member(o.doc, m, "tool_calls")
	if !ok {
		return
	}
	for c := range o.doc.Items(calls) {
		if o.doc.Kind(c) != jsonspan.Object {
			continue
		}
		if _, ok := o.doc.Member(c, "index"); !ok {
			o.edits = append(o.edits, o.doc.Insert(c, "index", strconv.AppendInt(nil, int64(o.calls), 10)))
		}
		o.calls++
	}
}
