// Package route turns the name that a request asks for into candidates, best first, and into a record for each
// deployment that was passed over and why. A name is a model's, a deployment's, or a router's: a policy then says which
// models to branch to, and may order the deployments of each.
//
// It reads the catalogue and the request's facts and calls nobody. What a policy is and how it is bounded is
// core/policy's; what can be expressed in a provider's dialect is found out by core/relay's dry run, and attempts are
// relay's as well. How backends are is core/health's to know: each is asked once for a request.
package route

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/policy"
)

// What Expand refuses a name with. The first name's refusal is given where several were asked for.
var (
	ErrUnknown   = errors.New("no model or router of this name")
	ErrForbidden = errors.New("the key may not use it")
)

// Failure is the failure of a router's policy that its on_error leaves to be the request's. Err is a *policy.Error, or
// ErrQuarantined.
type Failure struct {
	Router string
	Err    error
}

func (f *Failure) Error() string { return "router " + f.Router + ": " + f.Err.Error() }

// Unwrap gives what the policy failed with.
func (f *Failure) Unwrap() error { return f.Err }

// Skip says why a deployment, or a whole branch, is no candidate.
type Skip struct {
	Branch     int
	Deployment string // or the name of the branch, where no deployment of it was looked at
	Stage      string // resolve, disabled, provider, capabilities, context, health, quarantine, credential, choose, repeat, branches
	Reason     string
}

// Decision is what routing decided. It may be used again, for its memory.
type Decision struct {
	Router     string                // whose policy was asked first; "" where none was
	Branches   []string              // the names that were branched to, nested routers replaced by their branches
	Candidates []*catalog.Deployment // best first
	Plans      []policy.Plan         // of the candidates, in their order; empty where no policy plans
	Skips      []Skip                // in the order of the branches
	Failures   []Failure             // of policies whose on_error named other models
	Steps      uint64                // of all policies together
	Prints     []string              // where the request keeps them
	Err        error                 // that Expand gave

	branches  []branch
	beyond    []string
	by        []*Router // whose policy the candidates are from; nil: none
	seen      map[*catalog.Deployment]int
	expansion expansion
	wave      wave
}

func (d *Decision) reset() {
	clear(d.Candidates)
	*d = Decision{Branches: d.Branches[:0], Candidates: d.Candidates[:0], Plans: d.Plans[:0], by: d.by[:0], Skips: d.Skips[:0], branches: d.branches[:0], beyond: d.beyond[:0], seen: d.seen, expansion: d.expansion, wave: d.wave}
	clear(d.seen)
}

// Caller is what is known of who asks. Nothing but Allows is called where no policy decides.
type Caller interface {
	// Allows says whether the key may use a model. It is called from several goroutines.
	Allows(name string) bool
	// Models gives the models that the key may use, as policies see them.
	Models(s *Statistics) *policy.Models
	// Describe gives the request as policies see it.
	Describe() *policy.Request
}

// Request is what routing knows of a request.
type Request struct {
	Name        string   // asked for
	Also        []string // to be tried after it, in order; at most MaxAlso
	Facts       *dialect.Facts
	Caller      Caller
	Preferences *Preferences // nil: none
	Seed        uint64       // random: weighted choice depends on nothing else
	Now         time.Time
	Warm        map[string]float64 // by deployment: the share of the input that its prompt cache should hold; see Warmth
	KeepPrints  bool               // keep what policies print: it may hold a user's data

	// Accounts gives the accounts with which the request asks a deployment in the place of the table's; none: the table's.
	// Where it cannot ask it at all, why says so. It is called from several goroutines. Nil: always the table's.
	Accounts func(d *catalog.Deployment) (own []Account, why string)
}

// MaxAlso is how many names a request may give beside the first.
const MaxAlso = 16

// Expand finds the candidates of a request. The error is ErrUnknown, ErrForbidden, a *Failure, or the context's own;
// the decision then says how far it came.
func (t *Table) Expand(ctx context.Context, q *Request, into *Decision) error {
	into.reset()
	into.wave.begin(len(t.backends))
	x := &into.expansion
	*x = expansion{table: t, q: q, into: into, disabled: t.off.now(), open: x.open[:0], planning: x.planning}
	if q.Preferences != nil {
		x.prefs = *q.Preferences
	}
	err := x.names(ctx)
	if len(into.Plans) > 0 {
		into.padPlans()
	}
	if err == nil {
		x.finish()
	}
	into.Err = err
	return err
}

// names expands all names that the request asks for, one after the other.
func (x *expansion) names(ctx context.Context) error {
	q, into := x.q, x.into
	var refused error
	known := false
	for i := range 1 + len(q.Also) {
		name := q.Name
		if i > 0 {
			name = q.Also[i-1]
		}
		err := x.root(ctx, name)
		switch {
		case err == nil:
			known = true
			continue
		case err != ErrUnknown && err != ErrForbidden:
			return err
		case refused == nil:
			refused = err
		}
		if len(q.Also) > 0 {
			into.Skips = append(into.Skips, Skip{Branch: len(into.Branches), Deployment: name, Stage: "resolve", Reason: err.Error()})
			into.Branches = append(into.Branches, name)
		}
	}
	if !known {
		return refused
	}
	return nil
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

// draws are the random numbers of one branch: they depend on the request's seed and the branch alone, so that branches
// may be expanded in any order.
type draws uint64

func newDraws(seed uint64, branch int) draws { return draws(seed + uint64(branch)*0xd1342543de82ef95) }

// next is SplitMix64.
func (d *draws) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// shuffle draws the candidates without replacement, each with a chance in proportion to its weight.
func shuffle(list []*catalog.Deployment, draw draws) {
	var total uint64
	for _, d := range list {
		total += uint64(d.Weight)
	}
	for i := range list {
		if total == 0 {
			return
		}
		n := draw.next() % total
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
