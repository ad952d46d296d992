package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// maxName is the longest name of a tool; names and ids hold letters, digits, _ and - only
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use).
const maxName = 128

// maxID bounds the ids of calls, which the API does not.
const maxID = 256

// toolName gives the name that a tool goes by upstream. A name that the API would refuse is rewritten and made unique by
// a hash, the same for each request, and the gateway gives the client its own back.
func (e *encoding) toolName(t sdk.Text, path string) (string, error) {
	name, ok := t.Decoded()
	if !ok || name == "" {
		return "", &sdk.Invalid{Path: path, Message: "want a name of 1 to 256 characters"}
	}
	if legal(name) && len(name) <= maxName {
		return name, nil
	}
	if short, ok := e.names[name]; ok {
		return short, nil
	}
	short := rewrite([]byte(name), maxName)
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = short
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: short})
	return short, nil
}

// callID gives a call's id as the API takes it, the same on the call and on its result and in each request; "" where
// there is none. A hash keeps ids apart that would look alike after the rewriting.
func callID(t sdk.Text) string {
	if t.Empty() {
		return ""
	}
	id, ok := t.Decoded()
	switch {
	case !ok:
		f := t.Facts()
		return rewrite(append(append(append([]byte{}, f.Head...), f.Tail...), strconv.Itoa(f.Len)...), maxID)
	case legal(id) && len(id) <= maxID:
		return id
	}
	return rewrite([]byte(id), maxID)
}

func legal(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) {
			return false
		}
	}
	return true
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// rewrite replaces what is not allowed, cuts, and adds ten digits of the hash of the whole.
func rewrite(name []byte, limit int) string {
	sum := sha256.Sum256(name)
	head := append([]byte{}, name[:min(len(name), limit-11)]...)
	for i, c := range head {
		if !letter(c) {
			head[i] = '_'
		}
	}
	return string(head) + "_" + hex.EncodeToString(sum[:5])
}
