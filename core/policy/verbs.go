package policy

import (
	"cmp"
	"math"
	"slices"

	"go.starlark.net/starlark"
)

// verbs are how choose and plan say what they decide: into slots of the call, so that nothing is built to be returned.
var verbs = map[string]builtin{"use": use, "skip": skip, "attempt": attempt}

// Choice is what choose decided. It may be used again, for its memory.
type Choice struct {
	Order []int     // places of the candidates to use, best first; equal scores in the candidates' order
	Score []float64 // of each candidate that is used, by its place
	Skips []Skip    // the other candidates, in their order

	marks []mark
}

// Skip says why a candidate is passed over.
type Skip struct {
	Candidate int
	Reason    string
}

// Unmarked is the reason where choose said nothing of a candidate.
const Unmarked = "not chosen by the policy"

// mark is the slot of a candidate.
type mark struct {
	used   bool
	reason string
}

func (c *Choice) begin(n int) {
	c.Order, c.Skips = c.Order[:0], c.Skips[:0]
	c.Score = slices.Grow(c.Score[:0], n)[:n]
	c.marks = slices.Grow(c.marks[:0], n)[:n]
	clear(c.Score)
	for i := range c.marks {
		c.marks[i] = mark{reason: Unmarked}
	}
}

func (c *Choice) finish() {
	for i, m := range c.marks {
		if m.used {
			c.Order = append(c.Order, i)
		} else {
			c.Skips = append(c.Skips, Skip{i, m.reason})
		}
	}
	slices.SortFunc(c.Order, func(i, j int) int {
		return cmp.Or(cmp.Compare(c.Score[i], c.Score[j]), cmp.Compare(i, j))
	})
}

// seatOf gives the candidate that a verb is about.
func seatOf(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple) (*run, *seat, error) {
	r := running(th)
	if len(args) == 0 {
		return nil, nil, refuse(Raised, "%s: got nothing, want a target", b.Name())
	}
	s, ok := args[0].(*seat)
	if !ok || s.run != r {
		return nil, nil, refuse(Raised, "%s: got %s, want a target", b.Name(), args[0].Type())
	}
	return r, s, nil
}

func use(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r, s, err := seatOf(th, b, args)
	if err != nil {
		return nil, err
	}
	if r.choice == nil {
		return nil, refuse(Raised, "use: want it in choose alone")
	}
	score, err := second(b, args, kwargs, "score?")
	if err != nil {
		return nil, err
	}
	f, ok := starlark.AsFloat(score)
	switch {
	case score == nil:
		f = 0
	case !ok:
		return nil, refuse(Raised, "use: score: got %s, want a number", score.Type())
	case math.IsNaN(f):
		return nil, refuse(Raised, "use: score is not a number; is a price infinite, and multiplied by zero?")
	}
	r.choice.Score[s.index] = f
	r.choice.marks[s.index] = mark{used: true}
	return starlark.None, nil
}

// second gives the argument after the target, which is most often there and has no name; nil where there is none.
func second(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, name string) (starlark.Value, error) {
	if len(args) == 2 && len(kwargs) == 0 {
		return args[1], nil
	}
	var target, x starlark.Value
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "target", &target, name, &x)
	return x, err
}

const maxReason = 200

func skip(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r, s, err := seatOf(th, b, args)
	if err != nil {
		return nil, err
	}
	if r.choice == nil {
		return nil, refuse(Raised, "skip: want it in choose alone")
	}
	x, err := second(b, args, kwargs, "why")
	if err != nil {
		return nil, err
	}
	text, ok := x.(starlark.String)
	if !ok {
		return nil, refuse(Raised, "skip: why: got %s, want a string", x.Type())
	}
	why := string(text)
	if len(why) > maxReason {
		why = why[:maxReason]
	}
	r.choice.Score[s.index] = 0
	r.choice.marks[s.index] = mark{reason: why}
	return starlark.None, nil
}

// brief shows a value in an error: numbers as they are, and the type of all else.
func brief(v starlark.Value) string {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return v.String()
	}
	return v.Type()
}
