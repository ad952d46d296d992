package policy

import (
	"context"
	"fmt"
	"time"

	"go.starlark.net/starlark"
)

// Bounds limit one call of a policy.
type Bounds struct {
	Steps  uint64        // of the interpreter
	Time   time.Duration // on the clock
	Memory uint64        // bytes of all values made, those dropped again included; each step counts as 64 at least
}

// The bounds where Options state none. They are far above what a policy needs (about 40 steps and half a microsecond a
// candidate) and far below what hurts: 200,000 steps take about 3 ms.
const (
	DefaultSteps  = 200_000
	DefaultTime   = 50 * time.Millisecond
	DefaultMemory = 16 << 20
)

// orDefault fills in what is not set.
func (b Bounds) orDefault() Bounds {
	if b.Steps == 0 {
		b.Steps = DefaultSteps
	}
	if b.Time == 0 {
		b.Time = DefaultTime
	}
	if b.Memory == 0 {
		b.Memory = DefaultMemory
	}
	return b
}

// The limits on single values and operations. One operation is one step, whatever its size, and nothing stops it
// half-way; so each is kept small enough that the next check comes soon.
const (
	maxText  = 64 << 10 // bytes of a text
	maxTuple = 16 << 10 // bytes of a tuple when written out: it bounds hashing, which walks a tuple to its leaves
	maxOnce  = 1 << 20  // bytes that one operation makes
	maxBits  = 256      // of an integer
	maxRange = 65_536   // elements of a range
)

const (
	// unit is the bytes that one step may make unasked: a boxed float, the frame of a call, the growth of a list. What
	// can make more per step than that is charged. Memory is thereby spent from the step counter, one unit a step, and
	// needs no account of its own.
	unit = 64
	// stride is the steps between looks at the clock.
	stride = 256
)

// run is one call under way: its thread, its budget, and the slots that verbs write to. It is used again for later
// calls of the same program.
type run struct {
	thread    starlark.Thread
	script    *Script
	ended     interface{ Err() error } // the call's context, as far as it is looked at
	looked    time.Time                // when the budget was last looked at
	spent     time.Duration            // of the time bound
	bounds    Bounds
	charged   uint64   // of thread.Steps, those that charges added
	stopped   *refusal // why the call was stopped
	stopCause error
	trace     *Trace

	request *record[Request]
	targets starlark.Value // the tuple of the seats
	seats   []seat
	choice  *Choice // nil outside choose
	plans   []Plan  // nil outside plan
	args    [2]starlark.Value
}

// local is the key under which built-ins find the run of a thread.
const local = "run"

func newRun(s *Script) *run {
	r := &run{script: s, request: newRecord[Request](nil, requestTable)}
	r.thread.SetLocal(local, r)
	r.thread.OnMaxSteps = r.checkpoint
	r.thread.Print = r.print
	return r
}

func running(th *starlark.Thread) *run {
	r, _ := th.Local(local).(*run)
	return r
}

// begin readies the run for a call.
func (r *run) begin(ctx context.Context, b Bounds, trace *Trace) {
	r.ended, r.bounds, r.trace = ctx, b, trace
	r.charged, r.stopped, r.stopCause = 0, nil, nil
	r.looked, r.spent = time.Now(), 0
	r.thread.Steps = 0
	r.thread.Uncancel()
	r.thread.SetMaxExecutionSteps(r.next())
}

// end accounts for the call and drops what the run must not keep alive.
func (r *run) end() {
	if r.trace != nil {
		r.trace.Steps += r.thread.Steps - r.charged
		r.trace.Bytes += r.thread.Steps * unit
	}
	clear(r.seats)
	r.request.facts, r.args = nil, [2]starlark.Value{}
	clear(r.request.asked)
	r.ended, r.trace, r.choice, r.plans, r.stopCause = nil, nil, nil, nil, nil
}

// next is the value of the step counter at which the budget is looked at again.
func (r *run) next() uint64 {
	return min(r.thread.Steps+stride, r.bounds.Steps+r.charged, r.bounds.Memory/unit)
}

// checkpoint is called by the interpreter when its counter reaches next. Looking at the clock here, rather than setting
// a timer for each call, costs a short policy nothing. One stretch between two looks counts as a tenth of the bound at
// most. It cannot take that long of itself; the rest went to others on a busy machine, and a policy of a few hundred
// steps must not fail for it.
func (r *run) checkpoint(th *starlark.Thread) {
	r.spent += min(time.Since(r.looked), r.bounds.Time/10)
	r.looked = time.Now()
	switch {
	case th.Steps-r.charged >= r.bounds.Steps:
		r.stop(Steps, fmt.Sprintf("more than %d steps", r.bounds.Steps), nil)
	case th.Steps >= r.bounds.Memory/unit:
		r.stop(Memory, fmt.Sprintf("more than %d KiB of values", r.bounds.Memory>>10), nil)
	case r.spent >= r.bounds.Time:
		r.stop(Time, fmt.Sprintf("more than %s", r.bounds.Time), nil)
	case r.ended.Err() != nil:
		r.stop(Time, "the request ended", r.ended.Err())
	default:
		th.SetMaxExecutionSteps(r.next())
	}
}

// stop ends the call at its next step. The first reason stands.
func (r *run) stop(kind Kind, msg string, cause error) {
	if r.stopped == nil {
		r.stopped, r.stopCause = &refusal{kind, msg}, cause
	}
	r.thread.Cancel(msg)
}

// charge spends budget for bytes that a built-in is about to make, or for as much work.
func charge(th *starlark.Thread, bytes int) error {
	if bytes > maxOnce {
		return refuse(Memory, "more than %d KiB in one operation", maxOnce>>10)
	}
	r := running(th)
	n := uint64(bytes+bytes/8) / unit // The allocator rounds up, by an eighth at most.
	th.Steps += n
	r.charged += n
	if th.Steps >= r.bounds.Memory/unit {
		r.checkpoint(th)
		return r.stopped
	}
	return nil
}

// fits charges for a text of n bytes and refuses one over the limit.
func fits(th *starlark.Thread, n int) error {
	if n > maxText {
		return refuse(Memory, "text of %d bytes, the limit is %d", n, maxText)
	}
	return charge(th, n)
}

// print keeps a line for explain, and otherwise only counts it: what a policy prints may hold a user's data.
func (r *run) print(_ *starlark.Thread, line string) {
	if r.trace == nil {
		return
	}
	r.trace.Printed++
	if r.trace.KeepPrints && len(r.trace.Prints) < 100 {
		r.trace.Prints = append(r.trace.Prints, line)
	}
}

// flat says whether a value is compared, hashed and written in one go.
func flat(v starlark.Value) bool {
	switch v.(type) {
	case starlark.String, starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType:
		return true
	}
	return false
}

// maxDepth is how deep values may be nested where one is looked at as a whole.
const maxDepth = 32

// size is the bytes that a value takes at most when it is written out. A value that holds another many times over is as
// large as if each were its own, which is what it costs to write, compare or hash: forty lines can make one whose size
// has twelve digits. So the count ends at the limit, and ok is false there.
func size(v starlark.Value, limit int) (n int, ok bool) {
	s := scale{left: limit}
	s.put(v, 0)
	return limit - s.left, s.left >= 0
}

// Text writes a value out, as str does. One that takes more than 64 KiB is an error, and so is one nested too deeply.
func Text(v starlark.Value) (string, error) {
	if _, ok := size(v, maxText); !ok {
		return "", refuse(Memory, "%s of more than %d KiB", v.Type(), maxText>>10)
	}
	return v.String(), nil
}

type scale struct{ left int }

func (s *scale) put(v starlark.Value, depth int) {
	if depth > maxDepth {
		s.left = -1
	}
	if s.left < 0 {
		return
	}
	switch v := v.(type) {
	case starlark.String:
		s.left -= 2 + quoted(string(v))
	case starlark.Int:
		s.left -= 80
	case starlark.Float:
		s.left -= 25
	case starlark.Tuple:
		s.all(v, depth)
	case *starlark.List:
		s.left -= 2
		for i := range v.Len() {
			s.left -= 2
			if s.put(v.Index(i), depth+1); s.left < 0 {
				return
			}
		}
	case *starlark.Dict:
		s.left -= 2
		for key, value := range v.Entries() {
			s.left -= 4
			s.put(key, depth+1)
			if s.put(value, depth+1); s.left < 0 {
				return
			}
		}
	case *starlark.Function:
		s.function(v, depth)
	default:
		s.left -= 16 + len(v.String()) // All others have a short one, or one that is there already.
	}
}

func (s *scale) all(list []starlark.Value, depth int) {
	s.left -= 2
	for _, x := range list {
		s.left -= 2
		if s.put(x, depth+1); s.left < 0 {
			return
		}
	}
}

// function counts what a function keeps: its defaults, and the variables of the function around it.
func (s *scale) function(f *starlark.Function, depth int) {
	s.left -= 64
	for i := range f.NumParams() {
		if d := f.ParamDefault(i); d != nil {
			s.put(d, depth+1)
		}
	}
	for i := range f.NumFreeVars() {
		if _, v := f.FreeVar(i); v != nil {
			s.put(v, depth+1)
		}
	}
}

// quoted is at least the length of a text in quotes: bytes that are not printable ASCII take four at most.
func quoted(s string) int {
	n := len(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			n += 3
		}
	}
	return n
}

// whole charges for looking at a value to its leaves and refuses one that is too large for that.
func whole(th *starlark.Thread, v starlark.Value, doing string) (int, error) {
	if flat(v) {
		if s, ok := v.(starlark.String); ok {
			return len(s), fits(th, len(s))
		}
		return 80, nil
	}
	n, ok := size(v, maxText)
	if !ok {
		return 0, refuse(Memory, "%s: %s of more than %d KiB", doing, v.Type(), maxText>>10)
	}
	return n, charge(th, n)
}

// small refuses a tuple that is large or deep. Every tuple that a policy makes passes here, so that hashing one, which
// knows no limit of its own, ends soon.
func small(th *starlark.Thread, v starlark.Value) error {
	t, ok := v.(starlark.Tuple)
	if !ok {
		return nil
	}
	n, ok := size(t, maxTuple)
	if !ok {
		return refuse(Memory, "tuple of more than %d KiB", maxTuple>>10)
	}
	return charge(th, n)
}

// length is the number of elements that iterating gives; every iterable value that a policy can have knows it.
func length(v starlark.Value) (int, error) {
	switch v := v.(type) {
	case starlark.String:
	case starlark.Sequence:
		return v.Len(), nil
	case starlark.Indexable:
		if _, ok := v.(starlark.Iterable); ok {
			return v.Len(), nil
		}
	}
	return 0, refuse(Raised, "got %s, want a list, tuple, dict or range", v.Type())
}
