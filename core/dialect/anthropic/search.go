package anthropic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// foreignSearchID begins the ids of calls that foreignBlocks writes. Anthropic's own begin with "srvtoolu_" alone; how its
// clients name those that they make up is their own affair, and an id with this beginning is nobody else's.
const foreignSearchID = "srvtoolu_penstock_"

// foreignBlocks are the blocks of a foreign block: one of this dialect as it stands, and a search of the web that OpenAI's
// tool has made as the call and the result that Anthropic's tool gives
// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool). n is the number of the block.
func foreignBlocks(e *sdk.Event, requestID string, n int) [][]byte {
	if !e.Value.Present() {
		return nil
	}
	if ours(e.Type) {
		return [][]byte{bytes.Clone(e.Value.Raw())}
	}
	var doc jsonspan.Doc
	if e.Type != "web_search_call" || doc.Parse(e.Value.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return nil
	}
	action, ok := member(&doc, 0, "action")
	if kind, found := member(&doc, action, "type"); !ok || !found || !doc.Is(kind, "search") {
		return nil // a page that was read
	}
	id := strconv.AppendInt([]byte(foreignSearchID+strings.TrimPrefix(requestID, "req_")+"_"), int64(n), 10)
	call := append(append([]byte(`{"type":"server_tool_use","id":"`), id...), `","name":"web_search","input":{"query":`...)
	call = append(append(call, query(&doc, action)...), "}}"...)
	found := append(append([]byte(`{"type":"web_search_tool_result","tool_use_id":"`), id...), `","content":[`...)
	if sources, ok := member(&doc, action, "sources"); ok {
		first := true
		for source := range doc.Items(sources) {
			url, ok := member(&doc, source, "url")
			if !ok || doc.Kind(url) != jsonspan.String {
				continue
			}
			if !first {
				found = append(found, ',')
			}
			first = false
			found = append(append(found, `{"type":"web_search_result","url":`...), doc.Raw(url)...)
			found = append(append(found, `,"title":`...), doc.Raw(url)...)
			found = append(found, `,"encrypted_content":"","page_age":null}`...)
		}
	}
	return [][]byte{call, append(found, "]}"...)}
}

// query is the JSON text of what was searched for.
func query(doc *jsonspan.Doc, action int) []byte {
	if q, ok := member(doc, action, "query"); ok && doc.Kind(q) == jsonspan.String {
		return doc.Raw(q)
	}
	if list, ok := member(doc, action, "queries"); ok {
		for q := range doc.Items(list) {
			if doc.Kind(q) == jsonspan.String {
				return doc.Raw(q)
			}
		}
	}
	return []byte(`""`)
}

// foreignSearch says whether a block of a request is a search of another provider's that foreignBlocks has written. Anthropic
// reads what its own search has found only where that is sealed, and refuses what is not.
func foreignSearch(doc *jsonspan.Doc, block int) bool {
	kind, name := typeOf(doc, block), "id"
	switch {
	case doc.Is(kind, "web_search_tool_result"):
		name = "tool_use_id"
	case !doc.Is(kind, "server_tool_use"):
		return false
	}
	id, ok := doc.Member(block, name)
	return ok && doc.Kind(id) == jsonspan.String && bytes.HasPrefix(doc.Inner(id), []byte(foreignSearchID))
}
