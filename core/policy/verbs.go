package policy

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
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

// Plan is what a policy says of how one candidate is to be tried. What it does not say has its zero value, and is as
// configured.
type Plan struct {
	Connect, FirstContent, Idle time.Duration
	Total                       time.Duration // of one attempt
	Hedge                       time.Duration // silence after which the next candidate is asked beside this one
	Tries                       int           // of the candidate, the first included
	Commit                      string        // as the configuration's stream.commit: content, first_byte, whole, bytes:N, time:T
	OnDisconnect                string        // drain, cancel
	OnBreak                     string        // error, continue
	Refusals                    bool          // a refusal of the content may be another candidate's to serve
	Continuation                string        // what the next candidate is asked to go on by; with OnBreak continue alone
}

// The limits of what a plan says.
const (
	maxWait         = time.Hour
	maxRetries      = 10
	maxContinuation = 4 << 10 // bytes
)

// commitRule is the schema's pattern of stream.commit.
var commitRule = regexp.MustCompile(`^(content|first_byte|whole|bytes:[1-9][0-9]{0,8}|time:([0-9]+(\.[0-9]+)?(ms|s|m))+)$`)

// attempt is the verb of plan. The last word on a target counts.
func attempt(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r, s, err := seatOf(th, b, args)
	if err != nil {
		return nil, err
	}
	if r.plans == nil {
		return nil, refuse(Raised, "attempt: want it in plan alone")
	}
	if len(args) > 1 {
		return nil, refuse(Raised, "attempt: got %d arguments without a name, want the target alone", len(args))
	}
	var out Plan
	for _, kv := range kwargs {
		if kv[1] == starlark.None {
			continue
		}
		if err := out.say(string(kv[0].(starlark.String)), kv[1]); err != nil {
			return nil, err
		}
	}
	if out.Continuation != "" && out.OnBreak != "continue" {
		return nil, refuse(Raised, "attempt: continuation: want on_break = \"continue\" with it")
	}
	r.plans[s.index] = out
	return starlark.None, nil
}

// say sets one member of a plan.
func (p *Plan) say(name string, v starlark.Value) error {
	switch name {
	case "connect":
		return wait(name, v, &p.Connect)
	case "first_content":
		return wait(name, v, &p.FirstContent)
	case "idle":
		return wait(name, v, &p.Idle)
	case "total":
		return wait(name, v, &p.Total)
	case "hedge":
		return wait(name, v, &p.Hedge)
	case "retries":
		n, err := starlark.AsInt32(v)
		if err != nil || n < 0 || n > maxRetries {
			return refuse(Raised, "attempt: retries: got %s, want 0 to %d", brief(v), maxRetries)
		}
		p.Tries = n + 1
	case "refusals":
		b, ok := v.(starlark.Bool)
		if !ok {
			return refuse(Raised, "attempt: refusals: got %s, want True or False", v.Type())
		}
		p.Refusals = bool(b)
	case "commit":
		return word(name, v, &p.Commit, commitRule.MatchString, "content, first_byte, whole, bytes:N or time:T")
	case "on_disconnect":
		return word(name, v, &p.OnDisconnect, func(s string) bool { return s == "drain" || s == "cancel" }, "drain or cancel")
	case "on_break":
		return word(name, v, &p.OnBreak, func(s string) bool { return s == "error" || s == "continue" }, "error or continue")
	case "continuation":
		return word(name, v, &p.Continuation, func(s string) bool { return s != "" && len(s) <= maxContinuation }, "a text of up to 4 KiB")
	default:
		return refuse(Raised, "attempt: %s: no such argument, want connect, first_content, idle, total, hedge, retries, commit, on_disconnect, on_break, continuation or refusals", name)
	}
	return nil
}

// wait reads a time in seconds.
func wait(name string, v starlark.Value, to *time.Duration) error {
	f, ok := starlark.AsFloat(v)
	d := time.Duration(math.Min(f, 2*maxWait.Seconds()) * float64(time.Second))
	if !ok || !(d > 0 && d <= maxWait) { // also what is less than a nanosecond: zero would be as configured
		return refuse(Raised, "attempt: %s: got %s, want seconds over 0, up to %d", name, brief(v), int(maxWait.Seconds()))
	}
	*to = d
	return nil
}

// word reads a text that is of a kind.
func word(name string, v starlark.Value, to *string, is func(string) bool, want string) error {
	s, ok := v.(starlark.String)
	switch {
	case !ok:
		return refuse(Raised, "attempt: %s: got %s, want %s", name, v.Type(), want)
	case !is(string(s)):
		return refuse(Raised, "attempt: %s: got %.40q, want %s", name, string(s), want)
	}
	*to = string(s)
	return nil
}

// String writes a plan as the arguments of attempt that make it; "" where it says nothing.
func (p *Plan) String() string {
	var parts []string
	for _, wait := range []struct {
		name string
		is   time.Duration
	}{{"connect", p.Connect}, {"first_content", p.FirstContent}, {"idle", p.Idle}, {"total", p.Total}, {"hedge", p.Hedge}} {
		if wait.is > 0 {
			parts = append(parts, wait.name+" = "+strconv.FormatFloat(wait.is.Seconds(), 'f', -1, 64))
		}
	}
	if p.Tries > 0 {
		parts = append(parts, "retries = "+strconv.Itoa(p.Tries-1))
	}
	for _, word := range []struct{ name, is string }{{"commit", p.Commit}, {"on_disconnect", p.OnDisconnect}, {"on_break", p.OnBreak}, {"continuation", p.Continuation}} {
		if word.is != "" {
			parts = append(parts, word.name+" = "+syntax.Quote(word.is, false))
		}
	}
	if p.Refusals {
		parts = append(parts, "refusals = True")
	}
	return strings.Join(parts, ", ")
}
