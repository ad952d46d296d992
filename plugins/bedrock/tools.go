package bedrock

import (
	"slices"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/schema"
)

// anyObject is the schema of a tool without parameters: inputSchema is required, and so is its type.
const anyObject = `{"type":"object","properties":{}}`

// writeTools writes the tools and how free the model is to call them
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html). A conversation with calls
// in it must declare tools: where the client declares none, those that were called are named.
func (e *encoding) writeTools() error {
	called, err := e.called()
	if err != nil {
		return err
	}
	var able []int
	for i := range e.Tools {
		t := &e.Tools[i]
		switch {
		case t.Kind == sdk.ForeignTool:
			e.plan.LeaveTool(e.Request, i, "Converse has no tool of type "+t.Type)
		case e.allowed(t):
			able = append(able, i)
		}
	}
	if e.Choice.Mode == sdk.ChoiceNone {
		if len(called) > 0 && len(able) > 0 {
			e.plan.Lose("tool_choice", "Converse has no none, and the conversation has calls")
		} else {
			able = nil
		}
	}
	if len(able) == 0 && len(called) == 0 {
		return nil
	}
	e.w.Name("toolConfig").Object()
	e.w.Name("tools").Array()
	for _, i := range able {
		if err := e.tool(&e.Tools[i], sdk.ToolPath(e.Tools, i)); err != nil {
			return err
		}
	}
	if len(able) == 0 {
		for _, name := range called {
			e.spec(name, sdk.Text{}, sdk.Value{}, false)
		}
	}
	e.w.EndArray()
	if len(able) > 0 {
		if err := e.choice(); err != nil {
			return err
		}
	}
	e.w.EndObject()
	return nil
}

// called gives the names of the tools that the conversation has calls of.
func (e *encoding) called() ([]string, error) {
	var names []string
	for _, t := range e.turns {
		for _, b := range t.rest {
			if b.Kind != sdk.PartCall || !t.assistant || b.Call == nil {
				continue
			}
			name, err := e.toolName(b.Call.Name, b.path+".name")
			if err != nil {
				return nil, err
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// allowed says whether a tool is sent: Converse knows no allowed tools, so the others are left out.
func (e *encoding) allowed(t *sdk.Tool) bool {
	if e.Choice.Mode != sdk.ChoiceAllowed {
		return true
	}
	name, _ := t.Name.Decoded()
	return slices.ContainsFunc(e.Choice.Names, func(n sdk.Text) bool { return n.Is(name) })
}

func (e *encoding) tool(t *sdk.Tool, path string) error {
	cache := &t.Cache
	t = e.plan.AsFunction(t, path)
	name, err := e.toolName(t.Name, path+".name")
	if err != nil {
		return err
	}
	parameters, strict := t.Parameters, string(t.Strict.Raw()) == "true" && e.claude() && e.atLeast(4, 5)
	if strict {
		parameters = e.fitted(parameters, path+".parameters")
	}
	e.spec(name, t.Description, parameters, strict)
	e.mark(cache)
	return nil
}

// grammar is what a schema that the model is held to must not say
// (https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html).
var grammar = schema.Grammar{
	Spoken: []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
		"uniqueItems", "minProperties", "maxProperties"},
	Silent:   []string{"$schema", "$id", "$comment"},
	Formats:  []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	MinItems: 1,
}

// fitted gives a schema in words that the service compiles. One that is not seen stays as it is.
func (e *encoding) fitted(v sdk.Value, path string) sdk.Value {
	if v.Held() || !v.Present() {
		return v
	}
	text, changed, err := grammar.Fit(v.Raw())
	if err != nil {
		return v
	}
	if len(changed) > 0 {
		e.plan.Approximate(path, "the model is not held to "+strings.Join(changed, ", "))
	}
	return sdk.RawValue(text)
}

func (e *encoding) spec(name string, description sdk.Text, schema sdk.Value, strict bool) {
	w := e.w
	w.Object()
	w.Name("toolSpec").Object()
	w.Name("name").String(name)
	if !blank(description) {
		w.Name("description").Text(description)
	}
	w.Name("inputSchema").Object()
	if raw := string(schema.Raw()); !schema.Held() && (raw == "" || raw == "{}") {
		w.Name("json").Raw(anyObject)
	} else {
		w.Name("json").Value(schema)
	}
	w.EndObject()
	if strict {
		w.Name("strict").Bool(true)
	}
	w.EndObject()
	w.EndObject()
}

// choice writes toolChoice; without one the model decides.
func (e *encoding) choice() error {
	c := &e.Choice
	if string(c.Parallel.Raw()) == "false" {
		e.plan.Drop("parallel_tool_calls", "Converse has no such switch")
	}
	switch {
	case c.Mode == sdk.ChoiceRequired, c.Mode == sdk.ChoiceAllowed && c.Required:
		e.w.Name("toolChoice").Raw(`{"any":{}}`)
	case c.Mode == sdk.ChoiceNamed:
		if len(c.Names) == 0 {
			return &sdk.Invalid{Path: "tool_choice", Message: "want a tool's name"}
		}
		name, err := e.toolName(c.Names[0], "tool_choice.name")
		if err != nil {
			return err
		}
		e.w.Name("toolChoice").Object()
		e.w.Name("tool").Object()
		e.w.Name("name").String(name)
		e.w.EndObject()
		e.w.EndObject()
	}
	return nil
}
