package jsonspan

import (
	"bytes"
	"cmp"
	"slices"
)

// Edit replaces Body[From:To] with With. An Edit made by hand does just that. Those that [Doc.Insert] and [Doc.Delete]
// make stand for a member without its comma: which comma goes or comes depends on the other edits of the
// object, so [Splice] settles it. Apply them with Splice only.
type Edit struct {
	From, To int
	With     []byte
	member   change
}

// change is what an edit does to the members of an object.
type change uint8

const (
	sameMembers change = iota
	oneLess            // From..To is a member, its commas not counted
	oneMore            // With is a comma and a member; From = To, after the last value or the opening brace
)

// Replace makes the edit that puts with in the place of value val. It keeps with.
func (d *Doc) Replace(val int, with []byte) Edit {
	n := &d.Nodes[val]
	return Edit{From: int(n.Off), To: int(n.End), With: with}
}

// Insert makes the edit that adds a member behind the object's last. raw is its value as JSON. Several are
// added in the order of the edits. Whether the object has such a member already is not looked at.
// It panics where obj is no object.
func (d *Doc) Insert(obj int, name string, raw []byte) Edit {
	n := &d.Nodes[obj]
	if n.Kind != Object {
		panic("jsonspan: insert into " + n.Kind.String() + ", want object")
	}
	at := int(n.Off) + 1
	for _, val := range d.Members(obj) {
		at = int(d.Nodes[val].End)
	}
	with := make([]byte, 0, len(name)+len(raw)+4)
	with = AppendQuote(append(with, ','), name)
	with = append(append(with, ':'), raw...)
	return Edit{From: at, To: at, With: with, member: oneMore}
}

// Delete makes the edit that removes the member of obj whose name is node key. Any members of an object may be deleted,
// all of them too, and others inserted in the same Splice: the commas come out right. Deleting a member and
// editing within it is an overlap. It panics where key is not a name in obj.
func (d *Doc) Delete(obj, key int) Edit {
	for k, val := range d.Members(obj) {
		if k == key {
			return Edit{From: int(d.Nodes[key].Off), To: int(d.Nodes[val].End), member: oneLess}
		}
	}
	panic("jsonspan: delete of a node that is no member's name in the object")
}

// Splice appends to dst the segments of body with the edits applied, and returns them and the number of bytes they hold.
// Segments are sub-slices of body and of the edits' With: nothing is copied, and empty ones are left out. The edits
// are sorted in place by From; those of one place keep their order. It panics where two overlap, which is a mistake
// of the program and not of the text.
func Splice(dst [][]byte, body []byte, edits []Edit) (segs [][]byte, total int) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.From, b.From) })
	add := func(p []byte) {
		if len(p) > 0 {
			dst, total = append(dst, p), total+len(p)
		}
	}
	done := 0     // up to here body has been dealt with
	emptied := -1 // here an object's last member has been deleted
	for i := 0; i < len(edits); {
		e := edits[i]
		if e.From < done || e.To < e.From {
			panic("jsonspan: edits overlap")
		}
		i++
		switch e.member {
		case oneLess:
			for i < len(edits) && edits[i].member == oneLess && nextMember(body, e.To, edits[i].From) {
				e.To = edits[i].To
				i++
			}
			var empty bool
			if e.From, e.To, empty = withComma(body, e.From, e.To); empty {
				emptied = e.To
			}
		case oneMore:
			if first := i == 1 || edits[i-2].member != oneMore || edits[i-2].From != e.From; first && (e.From == emptied || body[e.From-1] == '{') {
				e.With = e.With[1:]
			}
		}
		add(body[done:e.From:e.From])
		add(e.With)
		done = e.To
	}
	add(body[done:])
	return dst, total
}

// nextMember reports whether the member that starts at to is the one after that which ends at from.
func nextMember(body []byte, from, to int) bool {
	return from <= to && string(bytes.Trim(body[from:to], " \t\r\n")) == ","
}

// withComma widens from..to, which are consecutive members, by the comma that goes with them: that behind them where others
// follow, else that before them where others stand before. Where neither is, the object becomes empty.
func withComma(body []byte, from, to int) (int, int, bool) {
	behind := skipSpace(body, to)
	if behind < len(body) && body[behind] == ',' {
		return from, skipSpace(body, behind+1), false
	}
	before := from
	for before > 0 && isSpace(body[before-1]) {
		before--
	}
	if before == 0 || body[before-1] != ',' {
		return from, to, true
	}
	before--
	for before > 0 && isSpace(body[before-1]) {
		before--
	}
	return before, to, false
}
