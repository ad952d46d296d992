package sdk

import "strings"

// WebSearch is a search of the web that a service runs itself, as a client wrote the tool for it: OpenAI's, Anthropic's and
// Google's tools have most of it in common. Members that the client did not write are absent.
type WebSearch struct {
	Path    string // of the tool
	Most    Value  // how many searches
	Allowed Value  // a list of the domains to stay in
	Blocked Value  // a list of the domains to keep out of
	Context Text   // how much of the pages is read: low, medium, high
	Offline bool   // what has been read before is searched, not the web as it is now

	where [4]Text // city, region, country, timezone
}

// places are the members of a search's location, which OpenAI and Anthropic have alike.
var places = [4]string{"city", "region", "country", "timezone"}

// searches says whether a type is that of a tool, or of OpenAI's member of chat completions, for searches of the web
// (https://platform.openai.com/docs/guides/tools-web-search,
// https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool, https://ai.google.dev/gemini-api/docs/google-search).
func searches(typ string) bool {
	return strings.HasPrefix(typ, "web_search") || typ == "googleSearch" || typ == "google_search"
}

// WebSearch gives what a tool says of searches of the web; false where it is no tool for them.
func (r *Request) WebSearch(i int) (s WebSearch, ok bool) {
	t := &r.Tools[i]
	s.Path = ToolPath(r.Tools, i)
	var d Doc
	if t.Kind != ForeignTool || !searches(t.Type) || t.Raw.Held() || d.Parse(t.Raw.Raw()) != nil {
		return s, false
	}
	root := d.Root()
	within := root
	if filters := root.Get("filters"); !filters.Null() {
		within = filters
	}
	list := func(n Node) Value {
		if n.Len() == 0 {
			return Value{}
		}
		return n.Value()
	}
	s.Allowed, s.Blocked = list(within.Get("allowed_domains")), list(within.Get("blocked_domains"))
	if n := root.Get("max_uses"); !n.Null() {
		s.Most = n.Value()
	}
	s.Context = root.Get("search_context_size").Text()
	if live := root.Get("external_web_access"); !live.Null() {
		s.Offline = !live.True()
	}
	at := root.Get("user_location")
	if nested := at.Get("approximate"); nested.Exists() { // as chat completions have it
		at = nested
	}
	for i, name := range places {
		s.where[i] = at.Get(name).Text()
	}
	return s, true
}

// Located says whether the client said where its user is.
func (s *WebSearch) Located() bool {
	for _, t := range s.where {
		if !t.Empty() {
			return true
		}
	}
	return false
}

// Location writes where the user is, as {"type": "approximate", …}, with the members beside the type or, where nest is a
// name, in an object of that name.
func (s *WebSearch) Location(w *Writer, nest string) {
	w.Object()
	w.Name("type").String("approximate")
	if nest != "" {
		w.Name(nest).Object()
	}
	for i, name := range places {
		if t := s.where[i]; !t.Empty() {
			w.Name(name).Text(t)
		}
	}
	if nest != "" {
		w.EndObject()
	}
	w.EndObject()
}

// Leave notes what is said of a search beside that there is one and the provider has no words for, but for the names among
// kept: of most, domains, context, location. That domains are left out changes what is asked.
func (s *WebSearch) Leave(p *Plan, why string, kept ...string) {
	keeps := func(name string) bool {
		for _, k := range kept {
			if k == name {
				return true
			}
		}
		return false
	}
	if s.Most.Present() && !keeps("most") {
		p.Drop(s.Path+".max_uses", why)
	}
	if (s.Allowed.Present() || s.Blocked.Present()) && !keeps("domains") {
		p.Lose(s.Path, why+" of domains")
	}
	if !s.Context.Empty() && !keeps("context") {
		p.Drop(s.Path+".search_context_size", why)
	}
	if s.Located() && !keeps("location") {
		p.Drop(s.Path+".user_location", why)
	}
	if s.Offline && !keeps("offline") {
		p.Approximate(s.Path+".external_web_access", "the web is searched as it is now")
	}
}

// LeaveTool notes a tool that a provider has nothing like. To leave out a search of the web, or the making of pictures, that
// is offered beside functions makes an answer poorer at most: agents offer what they know. Any other tool that is left out
// changes what is asked.
func (p *Plan) LeaveTool(r *Request, i int, why string) {
	t := &r.Tools[i]
	offered := searches(t.Type) || t.Type == "image_generation"
	beside := false
	for k := range r.Tools {
		beside = beside || r.Tools[k].Kind != ForeignTool
	}
	if path := ToolPath(r.Tools, i); offered && beside && !r.Chosen(i) {
		p.Drop(path, why)
	} else {
		p.Lose(path, why)
	}
}

// Chosen says whether the client demands calls of one tool of a provider's own, by its name or its type.
func (r *Request) Chosen(i int) bool {
	t := &r.Tools[i]
	if r.Choice.Mode != ChoiceNamed || len(r.Choice.Names) == 0 || t.Kind != ForeignTool {
		return false
	}
	name, _ := r.Choice.Names[0].Decoded()
	for k := range r.Tools {
		if r.Tools[k].Kind != ForeignTool && r.Tools[k].Name.Is(name) {
			return false // a tool of the client's own
		}
	}
	return t.Name.Is(name) || t.Type == name || searches(name) && searches(t.Type)
}

// LeavePart notes a part of an earlier turn that only its own dialect knows. The record of a search of the web is gone from
// the model's sight with it, while what the model made of it is said in the text beside; any other part is lost.
func (p *Plan) LeavePart(part *Part, path, why string) {
	switch {
	case part.Kind != PartForeign:
	case part.Type == "web_search_call", part.Type == "web_search_tool_result",
		part.Type == "server_tool_use" && strings.Contains(string(part.Value.Raw()), `"web_search"`):
		p.Drop(path, why)
		return
	}
	p.Lose(path, why)
}
