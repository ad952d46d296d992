package openairesponses

import (
	"bytes"

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

// tool reads one tool. A function is flat here; what else there is, the service runs.
func (r *decoder) tool(t int) sdk.Tool {
	kind := r.needed(t, "type")
	switch {
	case r.Is(kind, "function"):
		tool := sdk.Tool{Name: r.Content(r.needed(t, "name")), Description: r.Content(r.Get(t, "description")),
			Strict: r.TruthValue(r.Get(t, "strict"))}
		if p := r.Get(t, "parameters"); r.Object(p) {
			tool.Parameters = r.Parameters(p)
		}
		r.rest(t, "type", "name", "description", "strict", "parameters")
		return tool
	case r.Is(kind, "custom"):
		return sdk.Tool{Kind: sdk.CustomTool, Type: "custom", Name: r.Content(r.needed(t, "name")),
			Description: r.Content(r.Get(t, "description")), Raw: r.Value(t)}
	}
	return sdk.Tool{Kind: sdk.ForeignTool, Type: r.Word(kind), Name: r.Content(r.Get(t, "name")), Raw: r.Value(t)}
}

// choice reads tool_choice.
func (r *decoder) choice(v int) {
	c := &r.req.Choice
	if r.Kind(v) == jsonspan.String {
		switch {
		case r.Is(v, "none"):
			c.Mode = sdk.ChoiceNone
		case r.Is(v, "auto"):
			c.Mode = sdk.ChoiceAuto
		case r.Is(v, "required"):
			c.Mode = sdk.ChoiceRequired
		default:
			r.Want(v, `"none", "auto", "required" or an object`)
		}
		return
	}
	if r.Kind(v) != jsonspan.Object {
		r.Want(v, "a string or an object")
		return
	}
	switch t := r.Get(v, "type"); {
	case r.Is(t, "function"), r.Is(t, "custom"):
		c.Mode, c.Names = sdk.ChoiceNamed, []sdk.Text{r.Content(r.needed(v, "name"))}
	case r.Is(t, "allowed_tools"):
		r.allowed(v)
	case t > 0 && bytes.HasPrefix(r.Inner(t), []byte("web_search")): // which other providers have too
		c.Mode, c.Names = sdk.ChoiceNamed, []sdk.Text{r.Content(t)}
	default:
		r.unknown(v)
	}
}

func (r *decoder) allowed(v int) {
	c := &r.req.Choice
	c.Mode, c.Required = sdk.ChoiceAllowed, r.Is(r.Get(v, "mode"), "required")
	list := r.needed(v, "tools")
	if !r.Array(list) {
		return
	}
	for t := range r.Items(list) {
		if name := r.Get(t, "name"); name > 0 {
			c.Names = append(c.Names, r.Content(name))
		} else {
			r.unknown(t)
		}
	}
}
