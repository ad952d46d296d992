package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/schema"
)

// noParameters is the schema of a tool without parameters: input_schema is required, and so is its type.
const noParameters = `{"type":"object","properties":{}}`

// writeTools writes the tools and how free the model is to call them.
func (e *encoding) writeTools() error {
	var able []int
	for i := range e.Tools {
		t := &e.Tools[i]
		_, search := e.WebSearch(i)
		switch {
		case search && !e.named(webSearch):
			able = append(able, i)
		case t.Kind == sdk.ForeignTool:
			e.plan.LeaveTool(e.Request, i, "the Messages API has no tool of type "+t.Type)
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
			e.search(&s, &e.Tools[i].Cache)
			continue
		}
		if err := e.tool(&e.Tools[i], sdk.ToolPath(e.Tools, i)); err != nil {
			return err
		}
	}
	e.w.EndArray()
	return e.choice()
}

// The API's tool for searches of the web (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool): the
// first one, which all models that have such a tool take, and the name that it must have.
const (
	webSearchType = "web_search_20250305"
	webSearch     = "web_search"
)

// named says whether a tool of the client's own has a name, so that no other may.
func (e *encoding) named(name string) bool {
	return slices.ContainsFunc(e.Tools, func(t sdk.Tool) bool { return t.Kind != sdk.ForeignTool && t.Name.Is(name) })
}

// search writes the tool for searches of the web. Of the two lists of domains it takes one.
func (e *encoding) search(s *sdk.WebSearch, cache *sdk.Value) {
	s.Leave(e.plan, "the tool of the Messages API has no such wish", "most", "domains", "location")
	e.w.Object()
	e.w.Name("type").String(webSearchType)
	e.w.Name("name").String(webSearch)
	e.w.ValueMember("max_uses", s.Most)
	if e.w.ValueMember("allowed_domains", s.Allowed); !s.Allowed.Present() {
		e.w.ValueMember("blocked_domains", s.Blocked)
	}
	if s.Located() {
		e.w.Name("user_location")
		s.Location(e.w, "")
	}
	e.mark(cache)
	e.w.EndObject()
}

// allowed says whether a tool is sent: the API knows no allowed tools, so the others are left out.
func (e *encoding) allowed(t *sdk.Tool) bool {
	if e.Choice.Mode != sdk.ChoiceAllowed {
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
	cache := &t.Cache
	t = e.plan.AsFunction(t, path)
	name, err := e.toolName(t.Name, path+".name")
	if err != nil {
		return err
	}
	e.w.Object()
	e.w.Name("name").String(name)
	if !t.Description.Empty() {
		e.w.Name("description").Text(t.Description)
	}
	strict := string(t.Strict.Raw()) == "true"
	if strict && !e.version.atLeast(4, 5) {
		strict = false
		e.plan.Drop(path+".strict", "the model has no strict tools")
	}
	parameters := t.Parameters
	if strict {
		parameters = e.fitted(parameters, path+".parameters")
	}
	e.w.Name("input_schema")
	e.schema(parameters)
	if strict {
		e.w.Name("strict").Bool(true)
	}
	e.mark(cache)
	e.w.EndObject()
	return nil
}

// grammar is what a schema that the model is held to must not say
// (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, JSON Schema limitations).
var grammar = schema.Grammar{
	Spoken: []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems",
		"uniqueItems", "minProperties", "maxProperties"},
	Silent:   []string{"$schema", "$id", "$comment"},
	Formats:  []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	MinItems: 1,
}

// fitted gives a schema in words that the API compiles. One that is not seen stays as it is, and the API says what it thinks of it.
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

// schema writes a tool's parameters. The API demands an object schema that says so.
func (e *encoding) schema(v sdk.Value) {
	if !v.Present() {
		e.w.Raw(noParameters)
		return
	}
	var d sdk.Doc
	if v.Held() || d.Parse(v.Raw()) != nil {
		e.w.Value(v)
		return
	}
	root := d.Root()
	switch {
	case root.Get("type").Exists():
		e.w.Value(v)
	case root.Len() == 0:
		e.w.Raw(noParameters)
	default:
		e.w.Object()
		e.w.Name("type").String("object")
		for name, member := range root.Members() {
			e.member(name, member)
		}
		e.w.EndObject()
	}
}

// member copies a schema's member; a name that would need escaping is no keyword.
func (e *encoding) member(name string, n sdk.Node) {
	for i := range len(name) {
		if name[i] < ' ' || name[i] == '"' || name[i] == '\\' {
			return
		}
	}
	e.w.Name(name).Value(n.Value())
}

func (e *encoding) choice() error {
	c := &e.Choice
	kind, name := "", ""
	switch c.Mode {
	case sdk.ChoiceAuto:
		kind = "auto"
	case sdk.ChoiceNone:
		kind = "none"
	case sdk.ChoiceRequired:
		kind = "any"
	case sdk.ChoiceAllowed:
		kind = "auto"
		if c.Required {
			kind = "any"
		}
	case sdk.ChoiceNamed:
		if len(c.Names) == 0 {
			return &sdk.Invalid{Path: "tool_choice", Message: "want a tool's name"}
		}
		short, err := e.toolName(c.Names[0], "tool_choice.name")
		if err != nil {
			return err
		}
		for i := range e.Tools {
			if e.Chosen(i) {
				short = webSearch // of the tools that are no functions, the one that is sent
			}
		}
		kind, name = "tool", short
	}
	single := string(c.Parallel.Raw()) == "false" && kind != "none"
	if kind == "" && single {
		kind = "auto" // the flag has no place of its own
	}
	if kind == "" {
		return nil
	}
	e.w.Name("tool_choice").Object()
	e.w.Name("type").String(kind)
	e.w.StringMember("name", name)
	if single {
		e.w.Name("disable_parallel_tool_use").Bool(true)
	}
	e.w.EndObject()
	return nil
}

// forced says whether the model must call a tool.
func (e *encoding) forced() bool {
	c := &e.Choice
	return len(e.Tools) > 0 && (c.Mode == sdk.ChoiceRequired || c.Mode == sdk.ChoiceNamed || c.Mode == sdk.ChoiceAllowed && c.Required)
}

// maxName is the longest name of a tool; names and ids hold letters, digits, _ and - only
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use).
const maxName = 128

// maxID bounds the ids of calls, which the API does not.
const maxID = 256

// toolName gives the name that a tool goes by upstream. A name that the API would refuse is rewritten and made unique by
// a hash, the same for each request, and the gateway gives the client its own back.
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
	short := rewrite([]byte(name), maxName)
	if e.names == nil {
		e.names = make(map[string]string)
	}
	e.names[name] = short
	e.plan.Names = append(e.plan.Names, sdk.Rename{Client: name, Upstream: short})
	return short, nil
}

// callID gives a call's id as the API takes it, the same on the call and on its result and in each request; "" where
// there is none. A hash keeps ids apart that would look alike after the rewriting.
func callID(t sdk.Text) string {
	if t.Empty() {
		return ""
	}
	id, ok := t.Decoded()
	switch {
	case !ok:
		f := t.Facts()
		return rewrite(append(append(append([]byte{}, f.Head...), f.Tail...), strconv.Itoa(f.Len)...), maxID)
	case legal(id) && len(id) <= maxID:
		return id
	}
	return rewrite([]byte(id), maxID)
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

// rewrite replaces what is not allowed, cuts, and adds ten digits of the hash of the whole.
func rewrite(name []byte, limit int) string {
	sum := sha256.Sum256(name)
	head := append([]byte{}, name[:min(len(name), limit-11)]...)
	for i, c := range head {
		if !letter(c) {
			head[i] = '_'
		}
	}
	return string(head) + "_" + hex.EncodeToString(sum[:5])
}
