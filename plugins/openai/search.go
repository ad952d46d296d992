package openai

import (
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

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
