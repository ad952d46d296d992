package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// A call's id carries what the call must come back with, since clients keep ids and little else: the API's own id where
// it gave one, and the thought signature. Its letters are those that every client dialect allows.
const (
	markNative = "gem_" // the API's id follows
	markMade   = "gmc_" // an id made here follows
	markSigned = "_ts_" // the signature follows, in base64 for URLs, which the API takes as well
)

// Bounds of ids: of the API's own, so that the mark behind it is among the bytes that are always seen, and of a signature
// that an id carries.
const (
	maxNative = sdk.HeadBytes - len(markNative) - len(markSigned)
	maxSigned = 8 << 10
)

// callID is a call's id taken apart.
type callID struct {
	key       string // what tells it from other ids
	native    string
	signature sdk.Text
}

// readID takes an id apart; one of another provider is its key alone.
func readID(t sdk.Text) callID {
	head := string(t.Facts().Head)
	native, isNative := strings.CutPrefix(head, markNative)
	if isNative || strings.HasPrefix(head, markMade) {
		if i := strings.Index(head, markSigned); i > 0 {
			native, _, _ = strings.Cut(native, markSigned)
			id := callID{key: head[:i], native: native, signature: t.Slice(i+len(markSigned), t.Len())}
			if !isNative {
				id.native = ""
			}
			return id
		}
		if isNative && len(head) == t.Len() {
			return callID{key: head, native: native}
		}
	}
	if s, ok := t.Decoded(); ok {
		return callID{key: s}
	}
	f := t.Facts()
	return callID{key: head + string(f.Tail) + strconv.Itoa(f.Len)}
}

// writeID makes the id of a call. A signature that it has no room for, or that the plugin does not see, is left to the
// caller: signed is false.
func writeID(native, answer string, n int, signature sdk.Text) (id sdk.Text, signed bool) {
	var b strings.Builder
	if native != "" && len(native) <= maxNative && legal(native) && !strings.Contains(native, markSigned) {
		b.WriteString(markNative + native)
	} else {
		sum := sha256.Sum256([]byte(answer + "\x00" + native))
		b.WriteString(markMade + hex.EncodeToString(sum[:6]) + "_" + strconv.Itoa(n))
	}
	if s, ok := forURLs(signature); ok {
		b.WriteString(markSigned + s)
		return sdk.T(b.String()), true
	}
	return sdk.T(b.String()), signature.Empty()
}

// forURLs gives base64 in the alphabet for URLs, without padding; false for what is not inline, too long or no base64.
func forURLs(t sdk.Text) (string, bool) {
	s, ok := t.Decoded()
	s = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(s, "="))
	return s, ok && s != "" && len(s) <= maxSigned && legal(s)
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

// maxName is the longest name of a tool; it begins with a letter or _ and holds letters, digits, _ and -, and dots and
// colons, which not every version of the API takes (https://ai.google.dev/api/caching#FunctionDeclaration).
const maxName = 64

// toolName gives the name that a tool goes by upstream. A name that the API would refuse is rewritten and made unique by
// a hash, the same for each request, and the gateway gives the client its own back.
func (e *encoding) toolName(t sdk.Text, path string) (string, error) {
	name, ok := t.Decoded()
	if !ok || name == "" {
		return "", &sdk.Invalid{Path: path, Message: "want a name of 1 to 256 characters"}
	}
	begins := letter(name[0]) && name[0] != '-' && (name[0] < '0' || name[0] > '9')
	if begins && legal(name) && len(name) <= maxName {
		return name, nil
	}
	if short, ok := e.names[name]; ok {
		return short, nil
	}
	sum := sha256.Sum256([]byte(name))
	head := []byte("_" + name)
	if begins {
		head = head[1:]
	}
	head = head[:min(len(head), maxName-11)]
	for i, c := range head {
		if !letter(c) {
			head[i] = '_'
		}
	}
	short := string(head) + "_" + hex.EncodeToString(sum[:5])
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = short
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: short})
	return short, nil
}
