// Package route turns the model that a request asks for into candidates, best first, and into a record for each
// deployment that was passed over and why.
//
// It reads the catalogue and the request's facts and calls nobody; what can be expressed in a provider's dialect is
// found out by core/relay's dry run, and attempts are relay's as well.
package route

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
)

// Skip says why a deployment is no candidate.
type Skip struct {
	Branch     int
	Deployment string
	Stage      string // resolve, capabilities, context
	Reason     string
}

// Decision is what routing decided.
type Decision struct {
	Candidates []*catalog.Deployment // best first
	Skips      []Skip
}

// Request is what routing knows of a request.
type Request struct {
	Facts *dialect.Facts
	Draw  func() uint64 // uniform random numbers, for weighted choice
}

// Expand orders a model's deployments by its strategy and leaves out those that cannot serve the request. It appends to
// the slices of into, which may be reused between requests.
func Expand(m *catalog.Model, q Request, into *Decision) {
	into.Candidates, into.Skips = into.Candidates[:0], into.Skips[:0]
	for _, d := range m.Deployments {
		if stage, why := unfit(d, q.Facts); stage != "" {
			into.Skips = append(into.Skips, Skip{Deployment: d.ID, Stage: stage, Reason: why})
			continue
		}
		into.Candidates = append(into.Candidates, d)
	}
	if m.Strategy == catalog.Weighted && len(into.Candidates) > 1 {
		shuffle(into.Candidates, q.Draw)
	}
}

// unfit says which stage refuses a deployment, and why; "" where none does.
func unfit(d *catalog.Deployment, f *dialect.Facts) (stage, why string) {
	if lacks := f.Needs &^ d.Can; lacks != 0 {
		return "capabilities", "no " + strings.Join(lacks.Names(), ", ")
	}
	if tokens := Tokens(f.TextBytes); tokens > d.Context {
		return "context", "about " + strconv.Itoa(tokens) + " tokens are more than the context of " + strconv.Itoa(d.Context)
	}
	return "", ""
}

// Tokens is a cautious estimate of the tokens in some bytes of text: no text that fits is refused by it, so it counts
// six bytes a token where most tokenizers need about four.
func Tokens(bytes int) int { return bytes / 6 }

// shuffle draws the candidates without replacement, each with a chance in proportion to its weight.
func shuffle(list []*catalog.Deployment, draw func() uint64) {
	var total uint64
	for _, d := range list {
		total += uint64(d.Weight)
	}
	for i := range list {
		if total == 0 {
			return
		}
		n := draw() % total
		for j := i; j < len(list); j++ {
			w := uint64(list[j].Weight)
			if n < w {
				d := list[j]
				copy(list[i+1:j+1], list[i:j]) // the others keep their order
				list[i] = d
				total -= w
				break
			}
			n -= w
		}
	}
}
