package dialect

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Placer is implemented by a dialect in which members have other names than in OpenAI's chat completions: Places gives
// where it may have such a member, the usual place first; none where it has no such member.
type Placer interface {
	Places(member string) []string
}

// Locate gives the client's own path of what an error or a note is about. Plugins name a member of the whole request as
// OpenAI's chat completions do, and parts of messages as if their content were always a list; the path that results is the
// longest that the request has.
func Locate(d Dialect, doc *jsonspan.Doc, path string) string {
	if has := prefix(doc, path); has == path {
		return path
	}
	first, rest := path, ""
	if i := strings.IndexAny(path, ".["); i >= 0 {
		first, rest = path[:i], path[i:]
	}
	var places []string
	if p, ok := d.(Placer); ok {
		places = p.Places(first)
	}
	for _, place := range places {
		if has := prefix(doc, place+rest); len(has) >= len(place) {
			return has
		}
	}
	if len(places) > 0 {
		return places[0]
	}
	if has := prefix(doc, path); has != "" {
		return has
	}
	return path
}

// LocateNotes puts the client's own paths into notes.
func LocateNotes(d Dialect, doc *jsonspan.Doc, notes []sdk.Note) {
	for i := range notes {
		notes[i].Path = Locate(d, doc, notes[i].Path)
	}
}

// prefix gives the longest beginning of a path that leads somewhere.
func prefix(doc *jsonspan.Doc, path string) string {
	node, end := 0, 0
	for end < len(path) {
		step := path[end:]
		if n := strings.IndexAny(step[1:], ".["); n >= 0 {
			step = step[:n+1]
		}
		next, ok := follow(doc, node, step)
		if !ok {
			break
		}
		node, end = next, end+len(step)
	}
	return path[:end]
}

// follow takes one step, such as ".content" or "[2]".
func follow(doc *jsonspan.Doc, node int, step string) (int, bool) {
	if step[0] != '[' {
		if doc.Kind(node) != jsonspan.Object {
			return 0, false
		}
		return doc.Member(node, strings.TrimPrefix(step, "."))
	}
	n, err := strconv.Atoi(strings.Trim(step, "[]"))
	if err != nil || doc.Kind(node) != jsonspan.Array {
		return 0, false
	}
	for item := range doc.Items(node) {
		if n == 0 {
			return item, true
		}
		n--
	}
	return 0, false
}
