package openai

import (
	"github.com/penstock-gateway/penstock/sdk"
)

// noParameters is the schema of a tool without parameters: an object schema without properties is refused.
const noParameters = `{"type":"object","properties":{}}`

// tools writes the tools and how free the model is to call them. A choice without tools is refused by OpenAI, so it is
// left out then.
func (e *encoding) tools() error {
	var able []int
	for i := range e.Tools {
		t := &e.Tools[i]
		path := "tools[" + itoa(i) + "]"
		switch {
		case t.Kind == sdk.ForeignTool:
			e.plan.Lose(path, "the service has no tool of type "+t.Type)
		case t.Kind == sdk.CustomTool && e.compatible:
			return &sdk.Inexpressible{What: "a tool with free-form input", Path: path}
		case e.allowed(t):
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil
	}
	e.w.Name("tools").Array()
	for _, i := range able {
		if err := e.tool(&e.Tools[i], "tools["+itoa(i)+"]"); err != nil {
			return err
		}
	}
	e.w.EndArray()
	return e.choice()
}

// allowed says whether a tool is sent. Services that know no allowed_tools are sent the allowed ones only.
func (e *encoding) allowed(t *sdk.Tool) bool {
	if e.Choice.Mode != sdk.ChoiceAllowed || !e.compatible {
		return true
	}
	name, _ := t.Name.Decoded()
	for _, n := range e.Choice.Names {
		if n.Is(name) {
			return true
		}
	}
	return false
}

func (e *encoding) tool(t *sdk.Tool, path string) error {
	name, err := e.toolName(t.Name, path+".name")
	if err != nil {
		return err
	}
	e.uncached(piece{&sdk.Part{Cache: t.Cache}, path})
	kind := "function"
	if t.Kind == sdk.CustomTool {
		kind = "custom"
	}
	e.w.Object()
	e.w.Name("type").String(kind)
	e.w.Name(kind).Object()
	e.w.Name("name").String(name)
	if !t.Description.Empty() {
		e.w.Name("description").Text(t.Description)
	}
	if t.Kind == sdk.CustomTool {
		e.grammar(t, path)
	} else {
		if bare(t.Parameters) {
			e.w.Name("parameters").Raw(noParameters)
		} else {
			e.w.Name("parameters").Value(t.Parameters)
		}
		e.w.ValueMember("strict", t.Strict)
	}
	e.w.EndObject()
	if e.cache {
		e.w.ValueMember("cache_control", t.Cache)
	}
	e.w.EndObject()
	return nil
}

// bare says whether a schema is absent, or an object schema that says nothing more.
func bare(schema sdk.Value) bool {
	if !schema.Present() {
		return true
	}
	if schema.Held() {
		return false
	}
	var d sdk.Doc
	if d.Parse(schema.Raw()) != nil {
		return false
	}
	root := d.Root()
	return root.Len() == 0 || root.Len() == 1 && root.Get("type").Is("object")
}

// grammar writes the input format of a custom tool, which the client wrote inside the tool.
func (e *encoding) grammar(t *sdk.Tool, path string) {
	if !t.Raw.Present() {
		return
	}
	var d sdk.Doc
	if t.Raw.Held() || d.Parse(t.Raw.Raw()) != nil {
		e.plan.Lose(path+".format", "the tool is too large to be taken apart")
		return
	}
	format := d.Root().Get("format")
	if !format.Exists() {
		format = d.Root().At("custom", "format")
	}
	e.w.ValueMember("format", format.Value())
}

func (e *encoding) choice() error {
	c := &e.Choice
	switch c.Mode {
	case sdk.ChoiceAuto:
		e.w.Name("tool_choice").String("auto")
	case sdk.ChoiceNone:
		e.w.Name("tool_choice").String("none")
	case sdk.ChoiceRequired:
		e.w.Name("tool_choice").String("required")
	case sdk.ChoiceNamed:
		if len(c.Names) == 0 {
			return &sdk.Invalid{Path: "tool_choice", Message: "want a tool's name"}
		}
		e.w.Name("tool_choice")
		if err := e.choose(c.Names[0]); err != nil {
			return err
		}
	case sdk.ChoiceAllowed:
		if err := e.chooseAllowed(); err != nil {
			return err
		}
	}
	e.w.ValueMember("parallel_tool_calls", c.Parallel)
	return nil
}

func (e *encoding) choose(name sdk.Text) error {
	short, err := e.toolName(name, "tool_choice.name")
	if err != nil {
		return err
	}
	kind := "function"
	for i := range e.Tools {
		if e.Tools[i].Kind == sdk.CustomTool && e.Tools[i].Name.Is(decoded(name)) {
			kind = "custom"
		}
	}
	e.w.Object()
	e.w.Name("type").String(kind)
	e.w.Name(kind).Object()
	e.w.Name("name").String(short)
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

func decoded(t sdk.Text) string {
	s, _ := t.Decoded()
	return s
}

func (e *encoding) chooseAllowed() error {
	mode := "auto"
	if e.Choice.Required {
		mode = "required"
	}
	e.w.Name("tool_choice")
	if e.compatible {
		e.w.String(mode)
		return nil
	}
	e.w.Object()
	e.w.Name("type").String("allowed_tools")
	e.w.Name("allowed_tools").Object()
	e.w.Name("mode").String(mode)
	e.w.Name("tools").Array()
	for _, n := range e.Choice.Names {
		if err := e.choose(n); err != nil {
			return err
		}
	}
	e.w.EndArray()
	e.w.EndObject()
	e.w.EndObject()
	return nil
}
