package jsonspan

import (
	"hash/maphash"
)

// nameTable finds repeated names in an object. Its slots belong to one search, which the stamp tells, so nothing is
// cleared between objects. The hash is seeded: nobody outside can choose names that meet in one slot.
type nameTable struct {
	seed    maphash.Seed
	stamp   uint32
	slots   []nameSlot // a power of two
	scratch []byte     // an unescaped name
}

type nameSlot struct {
	stamp uint32
	hash  uint32
	key   uint32 // node
}

// fewNames is the number of members up to which comparing each with each is cheaper than hashing.
const fewNames = 6

// repeated returns the node of the first name that the object has had before, or 0. The nodes of the object's
// members are the rest of the tape.
func (t *nameTable) repeated(body []byte, nodes []Node, object, members int) int {
	if members > fewNames {
		return t.search(body, nodes, object, members)
	}
	var keys [fewNames]*Node
	n := 0
	for at := object + 1; at < len(nodes); at = int(nodes[at+1].Next) {
		key := &nodes[at]
		for _, other := range keys[:n] {
			if sameName(body, key, other) {
				return at
			}
		}
		keys[n] = key
		n++
	}
	return 0
}

func (t *nameTable) search(body []byte, nodes []Node, object, members int) int {
	size := 16
	for size < 2*members {
		size <<= 1
	}
	if len(t.slots) < size {
		t.slots, t.stamp = make([]nameSlot, size), 0
	}
	if t.seed == (maphash.Seed{}) {
		t.seed = maphash.MakeSeed()
	}
	if t.stamp++; t.stamp == 0 {
		clear(t.slots)
		t.stamp = 1
	}
	mask := uint32(size - 1)
	for at := object + 1; at < len(nodes); at = int(nodes[at+1].Next) {
		key := &nodes[at]
		h := t.hash(body, key)
		for i := h & mask; ; i = (i + 1) & mask {
			s := &t.slots[i]
			if s.stamp != t.stamp {
				*s = nameSlot{stamp: t.stamp, hash: h, key: uint32(at)}
				break
			}
			if s.hash == h && sameName(body, key, &nodes[s.key]) {
				return at
			}
		}
	}
	return 0
}

func (t *nameTable) hash(body []byte, key *Node) uint32 {
	name := body[key.Off+1 : key.End-1]
	if key.Flags&Escaped != 0 {
		t.scratch = appendUnescaped(t.scratch[:0], name)
		name = t.scratch
	}
	return uint32(maphash.Bytes(t.seed, name))
}

// shrink lets go of what an unusual object has left behind.
func (t *nameTable) shrink() {
	if len(t.slots) > keptSlots {
		t.slots = nil
	}
	if cap(t.scratch) > keptScratch {
		t.scratch = nil
	}
}

// sameName reports whether two names are equal once unescaped.
func sameName(body []byte, a, b *Node) bool {
	if (a.Flags|b.Flags)&Escaped == 0 {
		return a.End-a.Off == b.End-b.Off && string(body[a.Off:a.End]) == string(body[b.Off:b.End])
	}
	return sameText(body[a.Off+1:a.End-1], body[b.Off+1:b.End-1])
}
