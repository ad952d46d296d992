package gateway

import (
	"math"
	"slices"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/sdk"
)

// readExtras reads what OpenRouter's clients say of routing, `models` and `provider`, and takes it out of the body: it is
// said to the gateway, and no provider knows it.
func (r *request) readExtras(q *route.Request) *sdk.Failure {
	x := extras{Reader: dialect.Read(&r.doc), q: q}
	var edits []jsonspan.Edit
	for key, val := range r.doc.Members(0) {
		switch {
		case r.doc.Is(key, "models"):
			x.models(val, r.model)
		case r.doc.Is(key, "provider"):
			x.provider(val)
		default:
			continue
		}
		edits = append(edits, r.doc.Delete(0, key))
	}
	if edits == nil {
		return nil
	}
	if err := x.Fault(); err != nil {
		return asFailure(err)
	}
	segs, n := jsonspan.Splice(nil, r.doc.Body, edits)
	body := make([]byte, 0, n)
	for _, s := range segs {
		body = append(body, s...)
	}
	if err := r.doc.Parse(body, jsonspan.Limits{Depth: r.gen.Config.Limits.Depth}); err != nil {
		return badJSON(err)
	}
	r.facts = dialect.Facts{}
	if err := r.dialect.Facts(&r.doc, &r.facts); err != nil {
		return asFailure(err)
	}
	r.strict = x.strict
	return nil
}

// extras reads the two members.
type extras struct {
	dialect.Reader
	q      *route.Request
	prefs  route.Preferences
	strict bool // parameters are required: nothing may be dropped
}

// models reads the names to be tried after the first, which may stand among them again.
func (x *extras) models(val int, first string) {
	if x.Kind(val) == jsonspan.Null {
		return
	}
	for _, name := range x.words(val) {
		if name != first && !slices.Contains(x.q.Also, name) {
			x.q.Also = append(x.q.Also, name)
		}
	}
	if len(x.q.Also) > route.MaxAlso {
		x.Want(val, "at most 16 models")
	}
}

// words reads an array of texts. It is not nil where the member is an array.
func (x *extras) words(val int) []string {
	list := []string{}
	if x.Kind(val) == jsonspan.Null || !x.Array(val) {
		return nil
	}
	for i := range x.Items(val) {
		list = append(list, x.Word(i))
	}
	return list
}

// provider reads the preferences.
func (x *extras) provider(obj int) {
	if x.Kind(obj) == jsonspan.Null || !x.Object(obj) {
		return
	}
	for key, val := range x.Members(obj) {
		x.preference(string(x.Name(key)), val)
	}
	x.q.Preferences = &x.prefs
}

func (x *extras) preference(name string, val int) {
	p := &x.prefs
	switch name {
	case "order":
		p.Order = x.words(val)
	case "only":
		p.Only = x.words(val)
	case "ignore":
		p.Ignore = x.words(val)
	case "allow_fallbacks":
		p.NoFallbacks = !x.yes(val, true)
	case "require_parameters":
		x.strict = x.yes(val, false)
	case "sort":
		x.sort(val)
	case "max_price":
		x.maxPrice(val)
	case "data_collection":
		if x.Kind(val) != jsonspan.Null && !x.Is(val, "allow") {
			x.Refuse(val, "only \"allow\" is served: what providers keep is not known here")
		}
	case "zdr":
		if x.yes(val, false) {
			x.Refuse(val, "only false is served: what providers keep is not known here")
		}
	default:
		x.RefuseAt("provider."+name, "not served: want order, only, ignore, allow_fallbacks, require_parameters, sort or max_price")
	}
}

// yes reads a truth value; null is as if it were not said.
func (x *extras) yes(val int, unsaid bool) bool {
	if x.Kind(val) == jsonspan.Null {
		return unsaid
	}
	return x.Truth(val)
}

// sort reads an order: its name, or an object with the name and how far it goes.
func (x *extras) sort(val int) {
	if x.Kind(val) == jsonspan.Object {
		for key, v := range x.Members(val) {
			switch name := string(x.Name(key)); {
			case name == "by":
				x.sortBy(v)
			case name == "partition" && x.Kind(v) == jsonspan.Null || name == "partition" && x.Is(v, "model"):
			case name == "partition" && x.Is(v, "none"):
				x.prefs.Across = true
			case name == "partition":
				x.Want(v, "model or none")
			default:
				x.RefuseAt("provider.sort."+name, "not served: want by and partition")
			}
		}
		return
	}
	x.sortBy(val)
}

func (x *extras) sortBy(val int) {
	switch {
	case x.Kind(val) == jsonspan.Null:
	case x.Is(val, "price"):
		x.prefs.Sort = route.ByPrice
	case x.Is(val, "throughput"):
		x.prefs.Sort = route.ByThroughput
	case x.Is(val, "latency"):
		x.prefs.Sort = route.ByLatency
	default:
		x.Want(val, "price, throughput or latency")
	}
}

// maxPrice reads limits in USD for a million tokens. No deployment has a price for a request or an image, so that limits
// of these are kept by all.
func (x *extras) maxPrice(obj int) {
	if x.Kind(obj) == jsonspan.Null || !x.Object(obj) {
		return
	}
	for key, val := range x.Members(obj) {
		limit := x.usd(val)
		switch name := string(x.Name(key)); name {
		case "prompt":
			x.prefs.MaxInput = limit
		case "completion":
			x.prefs.MaxOutput = limit
		case "request", "image":
		default:
			x.RefuseAt("provider.max_price."+name, "not served: want prompt, completion, request or image")
		}
	}
}

// usd reads an amount as nano-USD; nil where there is none.
func (x *extras) usd(val int) *int64 {
	const most = 1e9 // USD
	switch v, ok := x.Float(val); {
	case x.Kind(val) == jsonspan.Null:
		return nil
	case !ok || v < 0 || v > most:
		x.Want(val, "an amount in USD")
		return nil
	default:
		nano := int64(math.Round(v * 1e9))
		return &nano
	}
}
