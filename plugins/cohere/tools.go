package cohere

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// noParameters is the schema of a tool without parameters.
const noParameters = `{"type":"object","properties":{}}`

// writeTools writes the tools and how free the model is to call them, and says whether there are any. The API can demand
// a call, but not name one: where the client names tools, the others are left out.
func (e *encoding) writeTools() (any bool, err error) {
	var able []int
	strict := true
	for i := range e.Tools {
		t := &e.Tools[i]
		switch {
		case t.Kind == sdk.ForeignTool:
			e.plan.LeaveTool(e.Request, i, "the API has no tool of type "+t.Type)
		case e.allowed(t):
			able = append(able, i)
			strict = strict && string(t.Strict.Raw()) == "true"
		}
	}
	if len(able) == 0 {
		return false, nil
	}
	e.w.Name("tools").Array()
	for _, i := range able {
		if err := e.tool(&e.Tools[i], sdk.ToolPath(e.Tools, i)); err != nil {
			return true, err
		}
	}
	e.w.EndArray()
	if strict {
		e.w.Name("strict_tools").Bool(true)
	}
	c := &e.Choice
	switch {
	case c.Mode == sdk.ChoiceNone:
		e.w.Name("tool_choice").String("NONE")
	case c.Mode == sdk.ChoiceRequired, c.Mode == sdk.ChoiceNamed, c.Mode == sdk.ChoiceAllowed && c.Required:
		e.w.Name("tool_choice").String("REQUIRED")
	}
	if string(c.Parallel.Raw()) == "false" {
		e.plan.Drop("parallel_tool_calls", "the API has no such switch")
	}
	return true, nil
}

func (e *encoding) allowed(t *sdk.Tool) bool {
	if e.Choice.Mode != sdk.ChoiceAllowed && e.Choice.Mode != sdk.ChoiceNamed {
		return true
	}
	name, _ := t.Name.Decoded()
	return slices.ContainsFunc(e.Choice.Names, func(n sdk.Text) bool { return n.Is(name) })
}

func (e *encoding) tool(t *sdk.Tool, path string) error {
	t = e.plan.AsFunction(t, path)
	name, err := e.toolName(t.Name, path+".name")
	if err != nil {
		return err
	}
	e.w.Object()
	e.w.Name("type").String("function")
	e.w.Name("function").Object()
	e.w.Name("name").String(name)
	if !t.Description.Empty() {
		e.w.Name("description").Text(t.Description)
	}
	if raw := string(t.Parameters.Raw()); !t.Parameters.Held() && (raw == "" || raw == "{}") {
		e.w.Name("parameters").Raw(noParameters)
	} else {
		e.w.Name("parameters").Value(t.Parameters)
	}
	e.w.EndObject()
	e.w.EndObject()
	return nil
}

// maxName bounds the names of tools, which hold letters, digits and _ and do not begin with a digit
// (https://docs.cohere.com/v1/reference/chat, tools).
const maxName = 64

// toolName gives the name that a tool goes by upstream. A name that the API would refuse is rewritten and made unique by
// a hash, the same for each request, and the gateway gives the client its own back.
func (e *encoding) toolName(t sdk.Text, path string) (string, error) {
	name, ok := t.Decoded()
	if !ok || name == "" {
		return "", &sdk.Invalid{Path: path, Message: "want a name of 1 to 256 characters"}
	}
	short := []byte(name)
	if '0' <= name[0] && name[0] <= '9' {
		short = append([]byte("_"), short...)
	}
	for i, c := range short {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			short[i] = '_'
		}
	}
	if string(short) == name && len(name) <= maxName {
		return name, nil
	}
	if known, ok := e.names[name]; ok {
		return known, nil
	}
	sum := sha256.Sum256([]byte(name))
	upstream := string(short[:min(len(short), maxName-11)]) + "_" + hex.EncodeToString(sum[:5])
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = upstream
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: upstream})
	return upstream, nil
}

// maxID bounds the ids of calls, which the API does not.
const maxID = 256

// callID gives a call's id, the same on the call and on its result; "" where there is none.
func callID(t sdk.Text) string {
	id, ok := t.Decoded()
	if ok && len(id) <= maxID {
		return id
	}
	if !ok {
		f := t.Facts()
		id = string(f.Head) + string(f.Tail) + strconv.Itoa(f.Len)
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}
