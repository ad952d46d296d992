package relay

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/core/catalog"
	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/faultpoint"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	"github.com/penstock-gateway/penstock/sdk"
)

// plan is how a candidate is to be asked.
type plan struct {
	way     *catalog.Way
	known   bool                // whether it can be asked
	encoded *pluginhost.Encoded // nil where the client's bytes pass
	free    []string            // the client's tools with free-form input, where there is an encoding
	skip    string              // why it cannot be asked
	failure *sdk.Failure        // what the client is told when no candidate can be asked
	without []jsonspan.Edit     // what is left out since a refusal
}

// ways finds the way to each candidate. Those of which it is known without a translation that they cannot be asked are left
// out.
func (r *run) ways() {
	for i := range r.Candidates {
		p := plan{way: r.Candidates[i].Deployment.Way(r.Dialect.Name())}
		p.known = p.way.Pass
		if r.Count && (!p.way.Pass || p.way.CountTarget == "") {
			p.failure = sdk.Fail(sdk.CannotTranslate, "cannot express: counting tokens")
			p.skip = p.failure.Message
		}
		r.plans = append(r.plans, p)
	}
}

// expressible is the dry run of a candidate: it says whether the request can be put to it. One that needs a translation has
// it made now, once for each distinct plugin, provider dialect and model. It is not made before the candidate's turn has
// come: most requests are served by the first, whatever the others' plugins are up to.
func (r *run) expressible(i int) bool {
	p := &r.plans[i]
	if p.known {
		return p.skip == ""
	}
	if j := r.sameEncoding(i); j >= 0 {
		*p = r.plans[j]
	} else {
		r.encode(&r.Candidates[i], p)
		p.known = true
	}
	if p.skip != "" {
		r.skip(r.Candidates[i].Upstream, "translate", p.skip)
	}
	return p.skip == ""
}

// sameEncoding finds a candidate whose encoding has been made and serves this one as well.
func (r *run) sameEncoding(i int) int {
	u, way := &r.Candidates[i], r.plans[i].way
	for j := range r.plans {
		v, p := &r.Candidates[j], &r.plans[j]
		if p.known && !p.way.Pass && p.way.Dialect == way.Dialect && v.Plugin == u.Plugin && v.Deployment.Provider == u.Deployment.Provider &&
			v.Deployment.Model == u.Deployment.Model && v.Deployment.OutputDefault() == u.Deployment.OutputDefault() {
			return j
		}
	}
	return -1
}

// encode asks the plugin for the request's translation.
func (r *run) encode(u *Candidate, p *plan) {
	if p.failure = r.decode(); p.failure != nil {
		p.skip = p.failure.Message
		return
	}
	e, f := u.Encode(r.Dialect, r.Doc, *r.request)
	if f == nil && !r.Limits.Lenient {
		f = StrictLoss(e.Dropped)
	}
	if f != nil {
		p.failure, p.skip = f, f.Message
		return
	}
	p.encoded, p.free = e, freeForm(r.request)
}

// freeForm gives the names of a request's tools with free-form input.
func freeForm(q *sdk.Request) (names []string) {
	for i := range q.Tools {
		if q.Tools[i].Kind == sdk.CustomTool {
			name, _ := q.Tools[i].Name.Decoded()
			names = append(names, name)
		}
	}
	return names
}

// Encode has the candidate's plugin translate a request, of which q is the middle form, within the time for the first
// content. Notes and the failure name the client's own members.
func (u *Candidate) Encode(d dialect.Dialect, doc *jsonspan.Doc, q sdk.Request) (*pluginhost.Encoded, *sdk.Failure) {
	q.Model, q.Provider, q.Native = u.Deployment.Model, u.Deployment.Provider.Instance, u.Deployment.Way(d.Name()).Dialect.Name
	q.DefaultMax = u.Deployment.OutputDefault()
	faultpoint.Reach(faultpoint.Translate)
	e := new(pluginhost.Encoded)
	var err error
	if limit := u.Terms.FirstContent; limit > 0 {
		err = u.Plugin.EncodeWithin(limit, &q, e)
	} else {
		err = u.Plugin.Encode(&q, e)
	}
	if err != nil {
		f := encodeFailure(err)
		f.Param = dialect.Locate(d, doc, f.Param)
		return nil, f
	}
	dialect.LocateNotes(d, doc, e.Dropped)
	return e, nil
}

// decode makes the middle form of the client's request, once.
func (r *run) decode() *sdk.Failure {
	if r.request != nil {
		return nil
	}
	q := new(sdk.Request)
	if err := r.Dialect.Decode(r.Doc, q); err != nil {
		return asFailure(err)
	}
	q.Dialect, q.Stream = r.Dialect.Name(), r.Facts.Stream
	r.request = q
	return nil
}

// encodeFailure turns what a plugin says of a request into what the client is told.
func encodeFailure(err error) *sdk.Failure {
	var lacks *sdk.Inexpressible
	var bad *sdk.Invalid
	switch {
	case errors.As(err, &lacks):
		f := sdk.Fail(sdk.CannotTranslate, lacks.Error())
		f.Param = lacks.Path
		return f
	case errors.As(err, &bad):
		f := sdk.Fail(sdk.BadRequest, bad.Message)
		f.Param = bad.Path
		return f
	}
	return asFailure(err)
}

// asFailure gives the failure in an error; anything else is a plugin's.
func asFailure(err error) *sdk.Failure {
	var f *sdk.Failure
	if errors.As(err, &f) {
		return f
	}
	return sdk.Fail(sdk.PluginFailed, "the provider's plugin could not translate the request")
}

// StrictLoss is what a client is told where a member was left out that changes what is asked; nil where none was.
func StrictLoss(notes []sdk.Note) *sdk.Failure {
	for _, n := range notes {
		if n.Strict {
			f := sdk.Fail(sdk.CannotTranslate, "cannot express: "+n.Path+": "+n.Why)
			f.Param = n.Path
			return f
		}
	}
	return nil
}

// DroppedHeader is the value of x-penstock-dropped for notes, in which what was not dropped but approximated is marked; ""
// where there are none.
func DroppedHeader(notes []sdk.Note) string {
	var b strings.Builder
	for i, n := range notes {
		if b.Len() > 1024 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		for _, c := range []byte(n.Path) {
			if c > 0x20 && c < 0x7f && c != ',' {
				b.WriteByte(c)
			}
		}
		if n.Approximate {
			b.WriteString(";approximate")
		}
	}
	return b.String()
}

// asksUsage says whether a translated request has the member that asks for usage, which the plugin puts in.
func (a *active) asksUsage() bool {
	e, member := a.plan.encoded, catalog.UsageMember(a.plan.way.Rules)
	return !a.plan.way.Pass && e != nil && member != nil &&
		slices.ContainsFunc(e.Segments, func(s []byte) bool { return bytes.Contains(s, member) })
}

// withoutMember leaves a member out of a text in segments, where it lies in one of them and is not the first of its object.
func withoutMember(segs [][]byte, member []byte) [][]byte {
	if len(member) == 0 {
		return segs
	}
	cut := append([]byte{','}, member...)
	for i, s := range segs {
		if before, after, ok := bytes.Cut(s, cut); ok {
			return slices.Concat(segs[:i], [][]byte{before, after}, segs[i+1:])
		}
	}
	return segs
}
