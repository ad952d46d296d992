package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/schema"
)

// maxName is the longest name of a tool
// (https://platform.openai.com/docs/api-reference/chat/create, tools, function.name).
const maxName = 64

// noParameters is the schema of a tool without parameters: an object schema without properties is refused.
const noParameters = `{"type":"object","properties":{}}`

// tools writes the tools and how free the model is to call them. A choice without tools is refused by OpenAI, so it is
// left out then.
func (e *encoding) tools() error {
	var able []int
	for i := range e.Tools {
		t := &e.Tools[i]
		_, search := e.WebSearch(i)
		switch {
		case search && e.Native == responsesDialect && !e.compatible:
			able = append(able, i)
		case search && e.Native != responsesDialect && searcher(e.Model):
			e.searching(i)
		case t.Kind == sdk.ForeignTool:
			e.plan.LeaveTool(e.Request, i, "the service has no tool of type "+t.Type)
		case e.allowed(t):
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return nil
	}
	e.w.Name("tools").Array()
	for _, i := range able {
		if s, ok := e.WebSearch(i); ok {
			e.search(&s)
			continue
		}
		if err := e.tool(&e.Tools[i], sdk.ToolPath(e.Tools, i)); err != nil {
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
	if e.compatible { // OpenAI alone has tools with free-form input
		t = e.plan.AsFunction(t, path)
	}
	name, err := e.toolName(t.Name, path+".name")
	if err != nil {
		return err
	}
	kind := "function"
	if t.Kind == sdk.CustomTool {
		kind = "custom"
	}
	e.w.Object()
	e.w.Name("type").String(kind)
	e.nest(kind)
	e.w.Name("name").String(name)
	if !t.Description.Empty() {
		e.w.Name("description").Text(t.Description)
	}
	if t.Kind == sdk.CustomTool {
		e.grammar(t, path)
	} else {
		e.w.Name("parameters")
		e.parameters(t.Parameters)
		e.strictness(t, path)
	}
	e.unnest()
	if e.cache && e.Native != responsesDialect {
		e.w.ValueMember("cache_control", t.Cache)
	}
	e.w.EndObject()
	return nil
}

// strictness writes whether a function's input is held to its schema. To responses every function is strict that does
// not say otherwise (https://platform.openai.com/docs/api-reference/responses/create, tools), and to no other dialect.
//
// Other dialects hold a model to schemas that OpenAI refuses to, such as one with a property that is not required.
func (e *encoding) strictness(t *sdk.Tool, path string) {
	strict := t.Strict
	if string(strict.Raw()) == "true" && !e.exact(t.Parameters) {
		e.plan.Drop(path+".strict", "the schema leaves something open")
		strict = sdk.Value{}
	}
	if e.Native == responsesDialect && e.Dialect != responsesDialect && !strict.Present() {
		e.w.Name("strict").Bool(false)
		return
	}
	e.w.ValueMember("strict", strict)
}

// exact says whether OpenAI can hold a model to a schema. What its own clients send is left for it to judge, and so is what is
// not seen.
func (e *encoding) exact(v sdk.Value) bool {
	return strings.HasPrefix(e.Dialect, "openai-") || v.Held() || schema.Exact(v.Raw())
}

// nest begins an object that chat completions have around the members of a tool, and unnest ends it. To responses those
// members stand beside the type.
func (e *encoding) nest(name string) {
	if e.Native != responsesDialect {
		e.w.Name(name).Object()
	}
}

func (e *encoding) unnest() {
	if e.Native != responsesDialect {
		e.w.EndObject()
	}
}

// parameters writes the schema of a function's input. An object schema without properties is refused, so that they are
// added, where the schema does not say by other words what the object holds.
func (e *encoding) parameters(v sdk.Value) {
	var d sdk.Doc
	switch {
	case !v.Present():
		e.w.Raw(noParameters)
		return
	case v.Held() || d.Parse(v.Raw()) != nil:
		e.w.Value(v)
		return
	}
	root := d.Root()
	for _, name := range [...]string{"properties", "$ref", "anyOf", "oneOf", "allOf"} {
		if root.Get(name).Exists() {
			e.w.Value(v)
			return
		}
	}
	switch {
	case root.Len() == 0, root.Len() == 1 && root.Get("type").Is("object"):
		e.w.Raw(noParameters)
	case root.Get("type").Is("object"):
		e.w.Raw(`{"properties":{},` + string(v.Raw()[1:]))
	default:
		e.w.Value(v)
	}
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
	grammar := format.Get("grammar") // as chat completions nest it
	nested := grammar.Exists()
	if !nested {
		grammar = format
	}
	if !format.Get("type").Is("grammar") || nested == (e.Native != responsesDialect) {
		e.w.ValueMember("format", format.Value())
		return
	}
	e.w.Name("format").Object()
	e.w.Name("type").String("grammar")
	e.nest("grammar")
	e.w.ValueMember("definition", grammar.Get("definition").Value())
	e.w.ValueMember("syntax", grammar.Get("syntax").Value())
	e.unnest()
	e.w.EndObject()
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
		if e.demandsSearch() {
			break
		}
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
		if !e.compatible && e.Tools[i].Kind == sdk.CustomTool && e.Tools[i].Name.Is(decoded(name)) {
			kind = "custom"
		}
	}
	e.w.Object()
	e.w.Name("type").String(kind)
	e.nest(kind)
	e.w.Name("name").String(short)
	e.unnest()
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
	e.nest("allowed_tools")
	e.w.Name("mode").String(mode)
	e.w.Name("tools").Array()
	for _, n := range e.Choice.Names {
		if err := e.choose(n); err != nil {
			return err
		}
	}
	e.w.EndArray()
	e.unnest()
	e.w.EndObject()
	return nil
}

// toolName gives the name that a tool goes by upstream. A name that OpenAI would refuse is cut and made unique by a
// hash, the same for each request, and the gateway gives the client its own back.
func (e *encoding) toolName(t sdk.Text, path string) (string, error) {
	name, ok := t.Decoded()
	if !ok || name == "" {
		return "", &sdk.Invalid{Path: path, Message: "want a name of 1 to 256 characters"}
	}
	if legal(name) && len(name) <= maxName {
		return name, nil
	}
	if short, ok := e.names[name]; ok {
		return short, nil
	}
	short := shorten(name)
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = short
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: short})
	return short, nil
}

func legal(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) {
			return false
		}
	}
	return true
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// shorten keeps the beginning of a name for the model to read, and ten digits of its hash.
func shorten(name string) string {
	sum := sha256.Sum256([]byte(name))
	head := []byte(name)[:min(len(name), maxName-11)]
	for i, c := range head {
		if !letter(c) {
			head[i] = '_'
		}
	}
	return string(head) + "_" + hex.EncodeToString(sum[:5])
}

// search writes the tool of responses for searches of the web (https://platform.openai.com/docs/guides/tools-web-search).
func (e *encoding) search(s *sdk.WebSearch) {
	s.Leave(e.plan, "the tool of responses has no such wish", "domains", "context", "location", "offline")
	if s.Blocked.Present() {
		e.plan.Lose(s.Path+".blocked_domains", "the tool of responses has no domains to keep out of")
	}
	e.searches = true
	e.w.Object()
	e.w.Name("type").String("web_search")
	if s.Allowed.Present() {
		e.w.Name("filters").Object()
		e.w.Name("allowed_domains").Value(s.Allowed)
		e.w.EndObject()
	}
	e.searchWishes(s, "")
	if s.Offline {
		e.w.Name("external_web_access").Bool(false)
	}
	e.w.EndObject()
}

// searchWishes writes what both APIs know of a search; nest is the object that chat completions have around a place.
func (e *encoding) searchWishes(s *sdk.WebSearch, nest string) {
	e.w.TextMember("search_context_size", s.Context)
	if s.Located() {
		e.w.Name("user_location")
		s.Location(e.w, nest)
	}
}

// searcher says whether a model of chat completions searches the web, as some do for each answer
// (https://platform.openai.com/docs/guides/tools-web-search?api-mode=chat).
func searcher(model string) bool { return strings.Contains(model, "-search-") }

// searching writes what chat completions have of a search instead of a tool.
func (e *encoding) searching(i int) {
	s, _ := e.WebSearch(i)
	s.Leave(e.plan, "chat completions have no such wish", "context", "location")
	e.w.Name("web_search_options").Object()
	e.searchWishes(&s, "approximate")
	e.w.EndObject()
}

// demandsSearch writes that the model must search the web, where that is what the client demands: as the one tool that is
// allowed, for there is no other way that all models know.
func (e *encoding) demandsSearch() bool {
	for i := range e.Tools {
		if e.Chosen(i) {
			e.w.Raw(`{"type":"allowed_tools","mode":"required","tools":[{"type":"web_search"}]}`)
			return true
		}
	}
	return false
}
