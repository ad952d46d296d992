package pipe

import (
	"bytes"
	"slices"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// maxContinued bounds the text of an answer that may be continued.
const maxContinued = 1 << 20

// Seam lets a streamed answer go on where a deployment broke off: one encoder writes for all attempts, and the text that
// the client has been sent is what the next candidate is asked to go on from.
type Seam struct {
	enc   dialect.Encoder
	told  dialect.Seams
	text  []byte    // of the answer, escaped as in JSON
	other bool      // the answer has more than can be continued
	used  sdk.Usage // of the calls that broke off
	going bool      // another deployment has gone on
	gap   []byte    // white space at the end of the text, which those who go on are not shown
}

// take takes note of an event; false where the client is not to see it.
func (s *Seam) take(e *sdk.Event) bool {
	switch e.Kind {
	case sdk.Begin, sdk.ThinkingDelta, sdk.Signature, sdk.Redacted:
		return !s.going // the client has had the beginning, and the reasoning that led to what it has
	case sdk.TextDelta:
		if len(s.gap) > 0 {
			if s.resume(e); e.Text.Empty() {
				return false
			}
		}
		s.text = append(s.text, e.Text.Raw()...)
		s.other = s.other || e.Choice > 0 || len(s.text) > maxContinued
	case sdk.ToolBegin, sdk.RefusalDelta, sdk.Foreign, sdk.Logprobs:
		s.other = true
	case sdk.UsageSeen:
		e.Usage = s.used.Plus(e.Usage)
	}
	return true
}

// Open says whether what the client has been sent can be gone on from.
func (s *Seam) Open() bool { return !s.other && len(s.text) > 0 }

// Text is what the client has been sent, escaped as in JSON, without the white space at its end: providers refuse to go
// on from that (https://docs.claude.com/en/docs/build-with-claude/prompt-engineering/prefill-claudes-response).
func (s *Seam) Text() []byte { return withoutSpace(s.text) }

// Break says that a source has broken off, and that another is to go on. used is what the call used.
func (s *Seam) Break(used sdk.Usage) {
	s.going, s.gap = true, s.text[len(withoutSpace(s.text)):]
	s.told.At = append(s.told.At, len(s.text))
	s.used = s.used.Plus(used)
}

// resume takes the white space that the client has had already off the beginning of a text: whoever was shown the answer
// without it may well write it again.
func (s *Seam) resume(e *sdk.Event) {
	text := e.Text.Raw()
	for len(s.gap) > 0 && len(text) > 0 {
		n := 1
		if s.gap[0] == '\\' {
			n = 2
		}
		if !bytes.HasPrefix(text, s.gap[:n]) {
			s.gap = nil
			break
		}
		s.gap, text = s.gap[n:], text[n:]
	}
	e.Text = sdk.RawText(text)
}

// Failer gives the encoder, which may know how a failure is written; see dialect.Failer.
func (s *Seam) Failer() any { return s.enc }

// withoutSpace cuts white space off the end of an escaped text.
func withoutSpace(text []byte) []byte {
	for {
		n := len(text)
		switch {
		case n > 0 && text[n-1] == ' ':
			text = text[:n-1]
		case n > 1 && bytes.IndexByte([]byte("nrt"), text[n-1]) >= 0 && endsEscape(text[:n-1]):
			text = text[:n-2]
		default:
			return slices.Clone(text)
		}
	}
}

// endsEscape says whether a text ends in a backslash that begins an escape and is not one itself.
func endsEscape(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	return (len(text)-n)%2 == 1
}
