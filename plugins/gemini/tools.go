package gemini

import (
	"slices"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/schema"
)

// writeTools writes the tools and how free the model is to call them. A tool's parameters are JSON Schema as the client
// wrote it: parametersJsonSchema takes what the older parameters, a form of OpenAPI's schemas, would refuse.
func (e *encoding) writeTools() error {
	var able, foreign []int
	for i := range e.Tools {
		if e.Tools[i].Kind == sdk.ForeignTool {
			foreign = append(foreign, i)
		} else {
			able = append(able, i)
		}
	}
	search := -1
	for _, i := range foreign {
		switch _, ok := e.WebSearch(i); {
		case ok && len(able) == 0 && search < 0:
			search = i
		case ok:
			e.plan.LeaveTool(e.Request, i, "the API does not search the web beside calls of functions")
		default:
			e.plan.LeaveTool(e.Request, i, "the API has no tool of type "+e.Tools[i].Type)
		}
	}
	if search >= 0 {
		e.search(search)
	}
	if len(able) == 0 {
		return nil
	}
	return e.functions(able)
}

// search writes the tool for searches of the web (https://ai.google.dev/gemini-api/docs/google-search), which the model uses
// as it sees fit. Beside functions only some models take it, and only from clients that give back all that it found.
func (e *encoding) search(i int) {
	s, _ := e.WebSearch(i)
	s.Leave(e.plan, "the API's search has no such wish")
	e.w.Name("tools").Raw(`[{"googleSearch":{}}]`)
	if m := e.Choice.Mode; m == sdk.ChoiceRequired || m == sdk.ChoiceNamed {
		e.plan.Approximate("tool_choice", "the model decides whether it searches")
	}
}

// functions writes the functions.
func (e *encoding) functions(able []int) error {
	e.w.Name("tools").Array()
	e.w.Object()
	e.w.Name("functionDeclarations").Array()
	for _, i := range able {
		path := sdk.ToolPath(e.Tools, i)
		t := e.plan.AsFunction(&e.Tools[i], path)
		name, err := e.toolName(t.Name, path+".name")
		if err != nil {
			return err
		}
		e.w.Object()
		e.w.Name("name").String(name)
		if !t.Description.Empty() {
			e.w.Name("description").Text(t.Description)
		}
		if raw := string(t.Parameters.Raw()); t.Parameters.Held() || raw != "" && raw != "{}" {
			e.w.Name("parametersJsonSchema").Value(reworded(t.Parameters))
		}
		e.w.EndObject()
	}
	e.w.EndArray()
	e.w.EndObject()
	e.w.EndArray()
	return e.choice()
}

// reworded gives a schema in words that the API knows (https://ai.google.dev/api/generate-content#generationconfig,
// responseJsonSchema): beside a reference nothing may stand, all of one is any of one, and a constant is the one value of a
// list. What the API ignores stays as it is, and so does a schema that is not seen.
func reworded(v sdk.Value) sdk.Value {
	if v.Held() || !v.Present() {
		return v
	}
	text, err := schema.Rewrite(v.Raw(), reword)
	if err != nil {
		return v
	}
	return sdk.RawValue(text)
}

func reword(members []schema.Member) []schema.Member {
	either := schema.Find(members, "anyOf") >= 0
	beside := slices.ContainsFunc(members, func(m schema.Member) bool { return m.Name[:min(len(m.Name), 1)] != "$" })
	for i, m := range members {
		switch {
		case m.Name == "$ref" && beside && !either:
			members[i] = schema.Member{Name: "anyOf", Value: []byte(`[{"$ref":` + string(m.Value) + `}]`)}
			either = true
		case m.Name == "allOf" && !either && single(m.Value):
			members[i].Name = "anyOf"
			either = true
		case m.Name == "const" && schema.Find(members, "enum") < 0 && m.Value[0] != '{' && m.Value[0] != '[':
			members[i] = schema.Member{Name: "enum", Value: []byte("[" + string(m.Value) + "]")}
		}
	}
	return members
}

// single says whether a list has one item.
func single(list []byte) bool {
	var d sdk.Doc
	return d.Parse(list) == nil && list[0] == '[' && d.Root().Len() == 1
}

// choice writes toolConfig (https://ai.google.dev/gemini-api/docs/function-calling, function calling modes).
func (e *encoding) choice() error {
	c := &e.Choice
	mode := ""
	switch c.Mode {
	case sdk.ChoiceAuto:
		mode = "AUTO"
	case sdk.ChoiceNone:
		mode = "NONE"
	case sdk.ChoiceRequired, sdk.ChoiceNamed:
		mode = "ANY"
	case sdk.ChoiceAllowed:
		mode = "VALIDATED" // text or one of the tools that are named
		if c.Required {
			mode = "ANY"
		}
	}
	if string(c.Parallel.Raw()) == "false" && c.Mode != sdk.ChoiceNone {
		e.plan.Drop("parallel_tool_calls", "the API has no such switch")
	}
	if mode == "" {
		return nil
	}
	e.w.Name("toolConfig").Object()
	e.w.Name("functionCallingConfig").Object()
	e.w.Name("mode").String(mode)
	if c.Mode == sdk.ChoiceNamed || c.Mode == sdk.ChoiceAllowed {
		if len(c.Names) == 0 {
			return &sdk.Invalid{Path: "tool_choice", Message: "want a tool's name"}
		}
		e.w.Name("allowedFunctionNames").Array()
		for _, n := range c.Names {
			name, err := e.toolName(n, "tool_choice.name")
			if err != nil {
				return err
			}
			e.w.String(name)
		}
		e.w.EndArray()
	}
	e.w.EndObject()
	e.w.EndObject()
	return nil
}
