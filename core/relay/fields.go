package relay

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/sdk"
)

// appendField appends one header line; a name or value with a control byte is left out whole, so that no text of a
// client or a plugin can make a line of its own.
func appendField(dst []byte, name, value string) []byte {
	if strings.ContainsFunc(name, unfit) || strings.ContainsFunc(value, control) || name == "" {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

func control(c rune) bool { return c < 0x20 && c != '\t' || c == 0x7f }

func unfit(c rune) bool { return c <= 0x20 || c >= 0x7f || c == ':' }

// dialectFields appends the manifest's headers, and of the client's those that the manifest lets through. A header that
// the client brings takes the place of the manifest's.
func dialectFields(dst []byte, static []sdk.Header, head *h1.Head, forward []string) []byte {
	for _, h := range static {
		if head != nil && allowed(forward, strings.ToLower(h.Name)) && head.Get(strings.ToLower(h.Name)) != nil {
			continue
		}
		dst = appendField(dst, h.Name, h.Value)
	}
	if head == nil || len(forward) == 0 {
		return dst
	}
	var short [64]byte
	for _, f := range head.Fields {
		name := appendLower(short[:0], f.Name)
		if allowed(forward, string(name)) && !neverForwarded(string(name)) {
			dst = appendField(dst, string(name), string(f.Value))
		}
	}
	return dst
}

// appendLower appends a field's name in lower case; only ASCII folds, as in all that compares such names.
func appendLower(dst, name []byte) []byte {
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// DialectFields gives the header lines that every request in a provider dialect has, as its manifest says.
func DialectFields(d *sdk.Dialect) []byte { return dialectFields(nil, d.Headers, nil, nil) }

// joined gives a header by its lower-case name, its lines in one as RFC 9110, section 5.3, has it; nil where it is absent.
func joined(head *h1.Head) func(lower string) []byte {
	return func(lower string) (value []byte) {
		for _, f := range head.Fields {
			if strings.EqualFold(string(f.Name), lower) {
				if value != nil {
					value = append(value, ',')
				}
				value = append(value, f.Value...)
			}
		}
		return value
	}
}

// allowed says whether a lower-case name is in a list whose entries may end in *.
func allowed(list []string, name string) bool {
	for _, a := range list {
		prefix, wild := strings.CutSuffix(a, "*")
		if a == name || wild && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// neverForwarded holds whatever a manifest says: credentials, framing and hop-by-hop headers are the gateway's own.
func neverForwarded(name string) bool {
	switch name {
	case "authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization", "host", "content-length",
		"content-type", "content-encoding", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade",
		"expect", "accept", "accept-encoding", "user-agent":
		return true
	}
	return false
}

// AppendAnswerFields appends those fields of the upstream's answer that may reach the client. All others are dropped: cookies,
// server names, keys that an upstream echoes, whose account the gateway's is. Where the key is limited, the limits that the
// client is told of are the key's and not those of the account.
func AppendAnswerFields(dst []byte, fields []h1.Field, limited bool) []byte {
	var short [64]byte
	for _, f := range fields {
		if name := appendLower(short[:0], f.Name); answerField(string(name), limited) {
			dst = append(dst, name...)
			dst = append(dst, ": "...)
			dst = append(dst, f.Value...)
			dst = append(dst, "\r\n"...)
		}
	}
	return dst
}

func answerField(name string, limited bool) bool {
	switch name {
	case "retry-after", "retry-after-ms", "x-should-retry", "openai-version":
		return true
	}
	return !limited && (strings.HasPrefix(name, "x-ratelimit-") || strings.HasPrefix(name, "anthropic-ratelimit-"))
}
