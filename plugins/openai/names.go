package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"

	"github.com/penstock-gateway/penstock/sdk"
)

// maxName is the longest name of a tool
// (https://platform.openai.com/docs/api-reference/chat/create, tools, function.name).
const maxName = 64

// maxID is the longest id of a call that every version of the service takes: it has answered 400 with "Expected a string
// with maximum length 40" (https://github.com/microsoft/autogen/issues/6377).
const maxID = 40

// toolName gives the name that a tool goes by upstream. A name that OpenAI would refuse is cut and made unique by a
// hash, the same for each request, and the gateway gives the client its own back.
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
	short := shorten(name)
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = short
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: short})
	return short, nil
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

// shorten keeps the beginning of a name for the model to read, and ten digits of its hash.
func shorten(name string) string {
	sum := sha256.Sum256([]byte(name))
	head := []byte(name)[:min(len(name), maxName-11)]
	for i, c := range head {
		if !letter(c) {
			head[i] = '_'
		}
	}
	return string(head) + "_" + hex.EncodeToString(sum[:5])
}

// callID gives a call's id as the service takes it, the same on the call and on its result; "" where there is none.
func (e *encoding) callID(t sdk.Text) string {
	if t.Empty() {
		return ""
	}
	id, ok := t.Decoded()
	if e.shortIDs {
		if ok && len(id) == 9 && legal(id) && !hasAny(id, '_', '-') {
			return id
		}
		return nineLetters(t)
	}
	if ok && len(id) <= maxID {
		return id
	}
	return "call_" + fingerprint(t)
}

func hasAny(s string, a, b byte) bool {
	for i := range len(s) {
		if s[i] == a || s[i] == b {
			return true
		}
	}
	return false
}

// nineLetters makes an id as Mistral demands it: nine letters and digits.
func nineLetters(t sdk.Text) string {
	sum := digest(t)
	s := new(big.Int).SetBytes(sum[:8]).Text(62)
	return ("000000000" + s)[len(s):]
}

// fingerprint is a short hash of a text, in 32 hexadecimal digits.
func fingerprint(t sdk.Text) string {
	sum := digest(t)
	return hex.EncodeToString(sum[:16])
}

// digest hashes a text; of a held one, what is known of it.
func digest(t sdk.Text) [sha256.Size]byte {
	if !t.Held() {
		return sha256.Sum256(t.Raw())
	}
	f := t.Facts()
	known := append(append([]byte{}, f.Head...), f.Tail...)
	return sha256.Sum256(append(known, itoa(f.Len)...))
}
