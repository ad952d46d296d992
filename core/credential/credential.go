// Package credential makes the header lines that authorize a request to a provider: a line that is the same for all of
// them, a token that is kept and renewed before its end, or a signature of each request.
//
// How a token is fetched and a request signed is the provider's plugin's. Which of a provider's credentials a request
// goes out with, and what becomes of one that was refused, is core/relay's.
package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// Authorizer is a plugin that makes the headers itself.
type Authorizer interface {
	Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error)
}

// Secret is one configured credential of a provider.
type Secret struct {
	Provider string            // the instance in the plugin's process
	Name     string            // for the log
	Values   map[string]string // never to be printed
}

// Mark tells a secret from others that bear its name before and after it, and nothing else of it: it is 16 bits of a hash.
func (s Secret) Mark() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		for _, text := range [...]string{name, s.Values[name]} {
			fmt.Fprintf(h, "%d %s", len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:2])
}

// patience bounds how long the plugin may take for headers, the network included.
const patience = 10 * time.Second

// Check says which members a secret lacks. Where the plugin makes the header and does not say what it needs, that is
// left to it.
func Check(a sdk.Auth, s Secret) error {
	sets := a.Members
	if a.Header != "" {
		named, _ := written(a.Format, func(string) string { return "" })
		sets = append([][]string{named}, sets...)
	}
	if len(a.Members) == 0 && (a.Kind == "signer" || a.Kind == "token") {
		return nil
	}
	var wanted []string
	for _, set := range sets {
		if !slices.ContainsFunc(set, func(name string) bool { return s.Values[name] == "" }) {
			return nil
		}
		wanted = append(wanted, strings.Join(set, " and "))
	}
	return fmt.Errorf("want %s", strings.Join(wanted, ", or "))
}

// Line is the header line of a credential that needs no plugin; ok is false where the secret lacks a member that the
// format names.
func Line(a sdk.Auth, s Secret) (line []byte, ok bool, err error) {
	if a.Header == "" {
		return nil, false, nil
	}
	named, value := written(a.Format, func(name string) string { return s.Values[name] })
	if slices.ContainsFunc(named, func(name string) bool { return s.Values[name] == "" }) {
		return nil, false, nil
	}
	line, err = appendHeader(nil, sdk.Header{Name: a.Header, Value: value})
	return line, err == nil, err
}

// written gives the members that a format names, and the text with what they are put for.
func written(format string, value func(name string) string) (named []string, text string) {
	for {
		plain, after, found := strings.Cut(format, "{")
		text += plain
		if !found {
			return named, text
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			name = "{" + after // no member has this name
		}
		named = append(named, name)
		text, format = text+value(name), tail
	}
}

// framing are the fields that say how a message is sent, which no credential may.
var framing = [...]string{"connection", "content-length", "content-type", "expect", "host", "keep-alive", "te", "trailer",
	"transfer-encoding", "upgrade"}

// lines writes what a plugin has answered.
func lines(headers []sdk.Header) (dst []byte, err error) {
	for _, h := range headers {
		if dst, err = appendHeader(dst, h); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// appendHeader appends one line. What is wrong with a value is said without showing it.
func appendHeader(dst []byte, h sdk.Header) ([]byte, error) {
	switch {
	case h.Name == "" || strings.ContainsFunc(h.Name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == ':' }):
		return dst, fmt.Errorf("header %q: want a field name", h.Name)
	case slices.Contains(framing[:], strings.ToLower(h.Name)):
		return dst, fmt.Errorf("header %q: is the gateway's", h.Name)
	case strings.ContainsFunc(h.Value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
		return dst, fmt.Errorf("header %q: its value holds a control character", h.Name)
	}
	dst = append(append(dst, h.Name...), ": "...)
	return append(append(dst, h.Value...), "\r\n"...), nil
}

// held are header lines that are good for some time.
type held struct {
	fields []byte
	until  time.Time
}

func (h *held) good(now time.Time) bool { return h != nil && now.Before(h.until) }

// ask asks the plugin. The lifetime counts from before the question, so that it is never overstated.
func ask(ctx context.Context, from Authorizer, r sdk.AuthRequest) (*held, time.Duration, error) {
	asked := time.Now()
	a, err := from.Authorize(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	fields, err := lines(a.Headers)
	if err != nil {
		return nil, 0, fmt.Errorf("provider %s: %w", r.Provider, err)
	}
	return &held{fields, asked.Add(a.Lifetime)}, a.Lifetime, nil
}
