// Package jsonspan reads a JSON text in one strict pass and records where its values stand, so that a caller can
// look at a few members, or replace them, without decoding or copying the rest.
//
// A text is one RFC 8259 value in UTF-8. Refused are a byte order mark, trailing bytes, invalid UTF-8, nesting
// beyond a limit, and two members of one object with the same name. Names are compared after unescaping, and
// names that differ in case are different names. Escapes of lone surrogates are accepted, because clients
// that cut text in the middle of a character send them.
//
// [Doc] is the tape of such a text: one [Node] for each value and each member name. [Splice] turns a text and a list of
// edits into segments for one vectored write. [Canonical] is the form of RFC 8785, for keys.
//
// The package leaves to its callers what the members mean, the limit on a body's size, and the framing of streams.
package jsonspan

import (
	"math"
	"sync"
)

// Kind is the kind of a value. The zero Kind is no value.
type Kind uint8

// The kinds of values. A member's name is a String too.
const (
	Object Kind = iota + 1
	Array
	String
	Number
	True
	False
	Null
)

// String names the kind as an error message does.
func (k Kind) String() string {
	names := [...]string{"nothing", "object", "array", "string", "number", "true", "false", "null"}
	if int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Flags are facts about a scalar that the scan finds on its way.
type Flags uint8

const (
	// Escaped marks a string with a backslash: its text is not its bytes.
	Escaped Flags = 1 << iota
	// NonASCII marks a string with bytes from 0x80 up. The escape \u00e9 is ASCII.
	NonASCII
	// Integer marks a number without fraction and exponent.
	Integer
)

// Node is one value, or one member's name, on the tape of a [Doc]. A member is the node of its name followed by the
// nodes of its value.
type Node struct {
	// Off and End bound the value's bytes in Body; those of a string include its quotes.
	Off, End uint32
	// Next is the index of the first node after the value and all that it holds.
	Next  uint32
	Kind  Kind
	Flags Flags
	// Depth is the number of containers around the value: 0 at the root.
	Depth uint8
}

// Bounds of the scan, and what a Reset lets a Doc keep.
const (
	defaultDepth = 128
	maxDepth     = math.MaxUint8 // Node.Depth
	defaultNodes = 1 << 20
	keptNodes    = 64 << 10
	keptSlots    = 1 << 10
	keptScratch  = 4 << 10
)

// Limits bound one scan. The zero value is the strict default.
type Limits struct {
	// Depth is how many containers may be open at once: 128 where it is 0, and 255 at most.
	Depth int
	// Nodes is how long the tape may become, which bounds its memory (16 bytes for each): 1<<20 where it is 0.
	Nodes int
	// AllowDuplicates accepts members of one name in one object. [Doc.Member] then finds the last, as most decoders do.
	AllowDuplicates bool
}

// Doc is a scanned text. The zero value is ready for Parse. A Doc is used by one goroutine at a time and is made
// to be used again: Parse reuses the memory of the tape.
//
// Values are named by their node's index; the root is 0. Methods that take an index panic where it is out of range, and
// answer with zero values where the node's kind is not the one they are about.
type Doc struct {
	// Body is the text. It is not copied, and must not change while the Doc is in use.
	Body []byte
	// Nodes is the tape, in the order of the text. It is empty after a Parse that failed.
	Nodes []Node

	lastWins bool // duplicates are allowed
	names    nameTable
}

// Parse scans body and fills the tape. It keeps body until the next Parse or Reset. An error is a [*SyntaxError].
func (d *Doc) Parse(body []byte, lim Limits) error {
	d.Body, d.Nodes, d.lastWins = body, d.Nodes[:0], lim.AllowDuplicates
	if lim.Depth <= 0 {
		lim.Depth = defaultDepth
	}
	lim.Depth = min(lim.Depth, maxDepth)
	if lim.Nodes <= 0 {
		lim.Nodes = defaultNodes
	}
	if uint64(len(body)) > math.MaxUint32 {
		return &SyntaxError{Line: 1, Column: 1, Msg: "text is larger than 4 GiB"}
	}
	if err := d.scan(lim); err != nil {
		d.Nodes = d.Nodes[:0]
		return err
	}
	return nil
}

// Reset lets go of the body, and of the memory that an unusually large text has left behind.
func (d *Doc) Reset() {
	d.Body, d.Nodes = nil, d.Nodes[:0]
	if cap(d.Nodes) > keptNodes {
		d.Nodes = nil
	}
	d.names.shrink()
}

// idle holds the Docs of Valid and Canonical. It is a variable of the package because a function has no owner that
// could keep them, and what it holds has no effect but speed.
var idle = sync.Pool{New: func() any { return new(Doc) }}

// borrow takes a Doc from idle; the function that it returns puts it back.
func borrow() (*Doc, func()) {
	d := idle.Get().(*Doc)
	return d, func() {
		d.Reset()
		idle.Put(d)
	}
}

// Valid gives the verdict of [Doc.Parse] on text and keeps nothing.
func Valid(text []byte, lim Limits) error {
	d, release := borrow()
	defer release()
	return d.Parse(text, lim)
}
