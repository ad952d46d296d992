package gemini

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// tools reads the list of tools: each is a set of functions, or something that the service runs, or both.
func (r *decoder) tools(v int) {
	if !r.list(v) {
		return
	}
	for t := range r.each(v) {
		if !r.Object(t) {
			continue
		}
		for k, m := range r.Members(t) {
			switch name := string(r.named(k)); {
			case r.Kind(m) == jsonspan.Null:
			case name != "functionDeclarations":
				r.req.Tools = append(r.req.Tools, sdk.Tool{Kind: sdk.ForeignTool, Type: name, Raw: r.Value(t), Path: r.Path(t)})
			case r.list(m):
				r.functions(m)
			}
		}
	}
}

func (r *decoder) functions(list int) {
	for f := range r.each(list) {
		if !r.Object(f) {
			continue
		}
		tool := sdk.Tool{Name: r.Content(r.needed(f, "name")), Description: r.Content(r.get(f, "description"))}
		if p := r.get(f, "parameters"); r.Object(p) {
			tool.Parameters = r.parameters(p)
		}
		if p := r.get(f, "parametersJsonSchema"); r.Object(p) {
			tool.Parameters = r.Parameters(p)
		}
		r.rest(f, "name", "description", "parameters", "parametersJsonSchema")
		tool.Path = r.Path(f)
		r.req.Tools = append(r.req.Tools, tool)
	}
}

func (r *decoder) toolConfig(v int) {
	if !r.Object(v) {
		return
	}
	if c := r.get(v, "functionCallingConfig"); r.Object(c) {
		r.choice(c)
	}
	r.rest(v, "functionCallingConfig")
}

// choice reads functionCallingConfig. VALIDATED leaves the model as free as AUTO does.
func (r *decoder) choice(v int) {
	c := &r.req.Choice
	if names := r.get(v, "allowedFunctionNames"); r.Array(names) {
		for n := range r.Items(names) {
			c.Names = append(c.Names, r.Content(n))
		}
	}
	mode := r.get(v, "mode")
	switch word := strings.ToUpper(r.Word(mode)); { // the service takes it in any case
	case mode == 0, word == "MODE_UNSPECIFIED":
	case word == "NONE":
		c.Mode, c.Names = sdk.ChoiceNone, nil
	case word == "AUTO", word == "VALIDATED":
		if c.Mode = sdk.ChoiceAuto; len(c.Names) > 0 {
			c.Mode = sdk.ChoiceAllowed
		}
	case word == "ANY":
		c.Mode = sdk.ChoiceRequired
		switch len(c.Names) {
		case 0:
		case 1:
			c.Mode = sdk.ChoiceNamed
		default:
			c.Mode, c.Required = sdk.ChoiceAllowed, true
		}
	default:
		r.Want(mode, `"AUTO", "ANY", "NONE" or "VALIDATED"`)
	}
	r.rest(v, "mode", "allowedFunctionNames")
}
