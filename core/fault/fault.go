// Package fault tells what an upstream's refusal means: which kind of failure a status and an error body stand for, what
// they say to a person, and how long they ask to wait.
//
// What follows from a kind (another candidate, a wait, giving up) is core/relay's table of outcomes.
package fault

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Classifier tells what an upstream's refusal means: by the plugin's table of known errors first, by the status after
// that. It is made once for a provider and is safe for concurrent use.
type Classifier struct{ known []known }

type known struct {
	sdk.KnownError
	kind sdk.Kind
	at   []string
	has  string
}

// NewClassifier compiles a manifest's table; an unknown kind is an error of the manifest, reported by name.
func NewClassifier(table []sdk.KnownError) (*Classifier, error) {
	c := new(Classifier)
	for _, e := range table {
		kind, ok := sdk.ParseKind(e.Kind)
		if !ok {
			return nil, &sdk.Invalid{Path: "errors", Message: "kind \"" + e.Kind + "\": want a kind of the sdk"}
		}
		k := known{KnownError: e, kind: kind, has: strings.ToLower(e.Has)}
		if e.At != "" {
			k.at = strings.Split(strings.TrimPrefix(e.At, "/"), "/")
		}
		c.known = append(c.known, k)
	}
	return c, nil
}

// Classify reads an error body; status 0 is one under a status of success, whose message stays empty where the body has
// none. now is for dates in Retry-After; get reads a header of the answer.
func (c *Classifier) Classify(status int, body []byte, get func(string) []byte, now time.Time) *sdk.Failure {
	f := &sdk.Failure{Kind: byStatus(status), Status: status}
	var doc jsonspan.Doc
	parsed := doc.Parse(body, jsonspan.Limits{AllowDuplicates: true}) == nil
	switch {
	case parsed:
		describe(f, &doc)
	case status != 0:
		f.Message = plain(body)
	}
	if kind := c.match(status, &doc, parsed, body); kind != sdk.KindNone && !(kind == sdk.BadRequest && f.Kind != sdk.UpstreamError) {
		f.Kind = kind // but a status that says more than "bad request" is believed
	}
	if f.Message == "" && status != 0 {
		f.Message = "the provider answered " + StatusText(status)
	}
	f.RetryAfter = RetryAfter(get, now)
	if f.RetryAfter == 0 && parsed {
		f.RetryAfter = retryDelay(&doc)
	}
	if f.RetryAfter == 0 && f.Kind == sdk.UpstreamRate {
		f.RetryAfter = resetAfter(get, now)
	}
	return f
}

// match looks the body up in the known errors.
func (c *Classifier) match(status int, doc *jsonspan.Doc, parsed bool, body []byte) sdk.Kind {
	if c == nil {
		return sdk.KindNone
	}
	root := 0
	if parsed && doc.Kind(0) == jsonspan.Array && doc.Len(0) > 0 { // Google's answer to a stream without alt=sse: [{"error": …}]
		root = 1
	}
	var lower string
	for i := range c.known {
		k := &c.known[i]
		if k.Status != 0 && k.Status != status {
			continue
		}
		text := ""
		switch {
		case k.at == nil:
			if lower == "" {
				lower = strings.ToLower(string(body))
			}
			text = lower
		case !parsed:
			continue
		default:
			v, ok := doc.Find(root, k.at...)
			if !ok {
				continue
			}
			if text = doc.Text(v); text == "" {
				text = string(doc.Raw(v))
			}
		}
		switch {
		case k.Equals != "" && text == k.Equals, k.Equals == "" && k.has != "" && strings.Contains(strings.ToLower(text), k.has),
			k.Equals == "" && k.has == "":
			return k.kind
		}
	}
	return sdk.KindNone
}

// byStatus is what a status alone says.
func byStatus(status int) sdk.Kind {
	switch status {
	case 401, 403:
		return sdk.UpstreamAuth
	case 402:
		return sdk.UpstreamMoney
	case 404:
		return sdk.UpstreamModel
	case 408, 504, 524:
		return sdk.Timeout
	case 413:
		return sdk.ContextTooLong
	case 429:
		return sdk.UpstreamRate
	case 503, 529:
		return sdk.Overloaded
	case 409, 421, 424, 425, 499: // of another request, of the connection, of what the service depends on, of its own proxy
		return sdk.UpstreamError
	}
	if status >= 400 && status < 500 {
		return sdk.BadRequest
	}
	return sdk.UpstreamError
}

// StatusText names a status: "503 Service Unavailable".
func StatusText(status int) string {
	text := strconv.Itoa(status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	return text
}
