package catalog

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// Rule is a splice rule of a manifest with its slots filled for one deployment.
type Rule struct {
	op                   op
	outer, inner         string // member names; inner "" for a top-level member
	each                 bool   // inner is a member of each object in the list outer
	value                []byte
	stream, whole, count bool // when it applies
	HidesUsage           bool
	header               string // of the client, whose items are the value; "" the value stands
}

type op uint8

const (
	replace op = iota // where the member stands
	set               // replace or insert
	insert            // where the member is absent
	remove
)

// rules compiles the manifest's rules, and the members that the service refuses.
func (d *Deployment) rules(splices []sdk.Splice) ([]Rule, error) {
	var rules []Rule
	for _, s := range splices {
		r, err := d.rule(s)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: splice %s: %w", d.Provider.Plugin, s.At, err)
		}
		rules = append(rules, r)
	}
	for _, at := range d.Provider.Drop {
		r, err := d.rule(sdk.Splice{Op: "delete", At: at})
		if err != nil {
			return nil, fmt.Errorf("provider %s: drop %s: %w", d.Provider.ID, at, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func (d *Deployment) rule(s sdk.Splice) (Rule, error) {
	names := strings.Split(strings.TrimPrefix(s.At, "/"), "/")
	r := Rule{outer: names[0], HidesUsage: s.Hides == "usage", header: s.Header}
	switch s.When {
	case "":
		r.stream, r.whole, r.count = true, true, true
	case "answer":
		r.stream, r.whole = true, true
	case "stream":
		r.stream = true
	case "whole":
		r.whole = true
	case "count":
		r.count = true
	default:
		return r, fmt.Errorf("when %q: want answer, stream, whole or count", s.When)
	}
	switch {
	case len(names) == 3 && names[1] == "*":
		r.each, r.inner = true, names[2]
	case names[0] == "" || len(names) > 2 || !strings.HasPrefix(s.At, "/"):
		return r, fmt.Errorf("path %q: want /name, /name/name or /name/*/name", s.At)
	case len(names) == 2:
		r.inner = names[1]
	}
	switch s.Op {
	case "replace":
		r.op = replace
	case "set":
		r.op = set
	case "insert":
		r.op = insert
	case "delete":
		r.op = remove
	default:
		return r, fmt.Errorf("operation %q: want replace, set, insert or delete", s.Op)
	}
	r.value = d.fill(s.Value)
	if r.op != remove && r.header == "" && jsonspan.Valid(r.value, jsonspan.Limits{}) != nil {
		return r, fmt.Errorf("value %q: want JSON", r.value)
	}
	return r, nil
}

// fill fills a value that is a slot, or a text that the model's name stands in.
func (d *Deployment) fill(v []byte) []byte {
	switch v = bytes.TrimSpace(v); {
	case string(v) == `"{max_output}"`:
		return strconv.AppendInt(nil, int64(d.OutputDefault()), 10)
	case len(v) > 0 && v[0] == '"':
		quoted := jsonspan.AppendQuote(nil, d.Model)
		return bytes.ReplaceAll(v, []byte("{model}"), quoted[1:len(quoted)-1])
	}
	return bytes.Clone(v)
}

// OutputDefault is the output limit to ask for where the provider demands one and the client gave none.
func (d *Deployment) OutputDefault() int {
	if d.MaxOutput < Unlimited {
		return d.MaxOutput
	}
	return 4096
}

// UsageMember is the member by which a request asks for usage that is hidden from a client who has not, as a plugin writes
// it where it has translated the request; nil where no rule knows one.
func UsageMember(rules []Rule) []byte {
	for i := range rules {
		if r := &rules[i]; r.HidesUsage && r.inner != "" && !r.each {
			return fmt.Appendf(nil, `%q:{%q:%s}`, r.outer, r.inner, r.value)
		}
	}
	return nil
}

// SpliceOptions say which rules apply.
type SpliceOptions struct {
	Stream  bool
	Count   bool // tokens are to be counted, not answers given
	NoUsage bool // the service refuses to be asked for usage
	// Header gives a header of the client's by its lower-case name; nil where it was not sent.
	Header func(name string) []byte
}

// Splice gives the edits that the rules ask for, and whether an answer must have usage cut from it.
func Splice(dst []jsonspan.Edit, doc *jsonspan.Doc, rules []Rule, o SpliceOptions) (edits []jsonspan.Edit, hideUsage bool) {
	for i := range rules {
		r := &rules[i]
		if !r.applies(&o) || o.NoUsage && r.HidesUsage {
			continue
		}
		if r.header != "" {
			value := o.Header(r.header)
			if value == nil {
				continue
			}
			own := *r
			own.value = items(value)
			r = &own
		}
		var done bool
		if dst, done = r.apply(dst, doc); done && r.HidesUsage {
			hideUsage = true
		}
	}
	return dst, hideUsage
}

// applies says whether the rule is for requests of a kind.
func (r *Rule) applies(o *SpliceOptions) bool {
	switch {
	case o.Count:
		return r.count
	case o.Stream:
		return r.stream
	}
	return r.whole
}

// items writes the comma-separated items of a header as a list of strings.
func items(header []byte) []byte {
	list := []byte{'['}
	for item := range bytes.SplitSeq(header, []byte{','}) {
		if item = bytes.TrimSpace(item); len(item) == 0 {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = jsonspan.AppendQuote(list, string(item))
	}
	return append(list, ']')
}

// apply appends the rule's edit where there is one to make.
func (r *Rule) apply(dst []jsonspan.Edit, doc *jsonspan.Doc) ([]jsonspan.Edit, bool) {
	if r.each {
		return r.applyToEach(dst, doc)
	}
	parent, name := 0, r.outer
	if r.inner != "" {
		obj, ok := doc.Member(0, r.outer)
		switch {
		case ok && doc.Kind(obj) == jsonspan.Object:
			parent, name = obj, r.inner
		case r.op == set || r.op == insert:
			whole := append(append(append([]byte{'{'}, jsonspan.AppendQuote(nil, r.inner)...), ':'), r.value...)
			whole = append(whole, '}')
			if ok {
				return append(dst, doc.Replace(obj, whole)), true
			}
			return append(dst, doc.Insert(0, r.outer, whole)), true
		default:
			return dst, false
		}
	}
	return r.member(dst, doc, parent, name)
}

// applyToEach appends the edits of the objects in a list.
func (r *Rule) applyToEach(dst []jsonspan.Edit, doc *jsonspan.Doc) ([]jsonspan.Edit, bool) {
	list, ok := doc.Member(0, r.outer)
	if !ok || doc.Kind(list) != jsonspan.Array {
		return dst, false
	}
	some := false
	for item := range doc.Items(list) {
		if doc.Kind(item) == jsonspan.Object {
			var done bool
			dst, done = r.member(dst, doc, item, r.inner)
			some = some || done
		}
	}
	return dst, some
}

// member appends the edit of one member.
func (r *Rule) member(dst []jsonspan.Edit, doc *jsonspan.Doc, parent int, name string) ([]jsonspan.Edit, bool) {
	val, ok := doc.Member(parent, name)
	switch {
	case ok && r.op == remove:
		return append(dst, doc.Delete(parent, val-1)), true
	case ok && (r.op == replace || r.op == set):
		if bytes.Equal(doc.Raw(val), r.value) {
			return dst, false
		}
		return append(dst, doc.Replace(val, r.value)), true
	case !ok && (r.op == set || r.op == insert):
		return append(dst, doc.Insert(parent, name, r.value)), true
	}
	return dst, false
}
