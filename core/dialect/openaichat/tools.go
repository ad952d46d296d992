package openaichat

import (
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

func (r *decoder) tools(v int) {
	if !r.Array(v) {
		return
	}
	for t := range r.Items(v) {
		if r.Object(t) {
			r.req.Tools = append(r.req.Tools, r.tool(t))
		}
	}
}

// tool reads one tool. One without a type is taken for a function, as services and clients have it that way.
func (r *decoder) tool(t int) sdk.Tool {
	cache := r.Value(r.Get(t, "cache_control"))
	kind := r.Get(t, "type")
	switch fn := r.Get(t, "function"); {
	case fn > 0 && (kind == 0 || r.Is(kind, "function")):
		tool := r.function(fn)
		if cache.Present() {
			tool.Cache = cache
		}
		r.rest(t, "type", "function", "cache_control")
		return tool
	case r.Is(kind, "function"):
		r.Missing(t, "function")
	case r.Is(kind, "custom"):
		c := r.Get(t, "custom")
		name := r.Get(c, "name")
		if name == 0 {
			r.Missing(t, "custom.name")
		}
		return sdk.Tool{Kind: sdk.CustomTool, Name: r.Content(name), Description: r.Content(r.Get(c, "description")),
			Cache: cache, Type: "custom", Raw: r.Value(t)}
	case kind == 0:
		r.Missing(t, "type")
	}
	return sdk.Tool{Kind: sdk.ForeignTool, Type: r.Word(kind), Name: r.Content(r.Get(t, "name")), Cache: cache, Raw: r.Value(t)}
}

// function reads a function, of tools or of the old functions.
func (r *decoder) function(fn int) sdk.Tool {
	if !r.Object(fn) {
		return sdk.Tool{}
	}
	name := r.Get(fn, "name")
	if name == 0 {
		r.Missing(fn, "name")
	}
	tool := sdk.Tool{Name: r.Content(name), Description: r.Content(r.Get(fn, "description")),
		Strict: r.TruthValue(r.Get(fn, "strict")), Cache: r.Value(r.Get(fn, "cache_control"))}
	if p := r.Get(fn, "parameters"); p > 0 && r.Object(p) {
		tool.Parameters = r.Parameters(p)
	}
	r.rest(fn, "name", "description", "strict", "parameters", "cache_control")
	return tool
}

func (r *decoder) oldFunctions(v int) {
	if !r.Array(v) {
		return
	}
	for fn := range r.Items(v) {
		r.req.Tools = append(r.req.Tools, r.function(fn))
	}
}

// choice reads tool_choice.
func (r *decoder) choice(v int) {
	c := &r.req.Choice
	if r.Kind(v) == jsonspan.String {
		c.Mode = r.mode(v)
		return
	}
	if r.Kind(v) != jsonspan.Object {
		r.Want(v, "a string or an object")
		return
	}
	switch t := r.Get(v, "type"); {
	case r.Is(t, "function"):
		r.named(v, "function")
	case r.Is(t, "custom"):
		r.named(v, "custom")
	case r.Is(t, "allowed_tools"):
		r.allowed(v)
	case t == 0 && r.Get(v, "function") > 0:
		r.named(v, "function")
	default:
		r.unknown(v)
	}
}

// mode reads a tool choice that is one word; any is Mistral's word for required.
func (r *decoder) mode(v int) sdk.ChoiceMode {
	switch {
	case r.Is(v, "none"):
		return sdk.ChoiceNone
	case r.Is(v, "auto"):
		return sdk.ChoiceAuto
	case r.Is(v, "required"), r.Is(v, "any"):
		return sdk.ChoiceRequired
	}
	r.Want(v, `"none", "auto", "required" or an object`)
	return sdk.ChoiceUnset
}

func (r *decoder) named(v int, member string) {
	name := r.Get(r.Get(v, member), "name")
	if name == 0 {
		r.Missing(v, member+".name")
	}
	r.req.Choice.Mode, r.req.Choice.Names = sdk.ChoiceNamed, []sdk.Text{r.Content(name)}
}

func (r *decoder) allowed(v int) {
	a := r.Get(v, "allowed_tools")
	if a == 0 {
		r.Missing(v, "allowed_tools")
		return
	}
	c := &r.req.Choice
	c.Mode, c.Required = sdk.ChoiceAllowed, r.Is(r.Get(a, "mode"), "required")
	list := r.Get(a, "tools")
	if list == 0 {
		r.Missing(a, "tools")
		return
	}
	if !r.Array(list) {
		return
	}
	for t := range r.Items(list) {
		name := r.Get(r.Get(t, "function"), "name")
		if name == 0 {
			name = r.Get(r.Get(t, "custom"), "name")
		}
		if name == 0 {
			name = r.Get(t, "name")
		}
		if name == 0 {
			r.unknown(t)
			continue
		}
		c.Names = append(c.Names, r.Content(name))
	}
}

// oldChoice reads function_call of a request.
func (r *decoder) oldChoice(v int) {
	if r.Kind(v) == jsonspan.String {
		r.req.Choice.Mode = r.mode(v)
		return
	}
	name := r.Get(v, "name")
	if name == 0 {
		r.Want(v, `"none", "auto" or the name of a function`)
		return
	}
	r.req.Choice.Mode, r.req.Choice.Names = sdk.ChoiceNamed, []sdk.Text{r.Content(name)}
}
