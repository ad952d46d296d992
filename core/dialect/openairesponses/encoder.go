package openairesponses

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewEncoder makes the writer of one answer: events, or a whole response. The dialect has one answer: of several, the
// first is written.
func (Dialect) NewEncoder(o dialect.EncoderOptions) dialect.Encoder {
	if !o.Stream {
		return &whole{stream: stream{answer: answer{opts: o}}}
	}
	return &stream{answer: answer{opts: o}, limit: maxKept}
}

// whole writes the events of an answer to nobody and keeps the response that they come to. What it keeps is bounded by
// the relay's limit for a whole answer.
type whole struct {
	stream
	scratch []byte
}

// Event keeps what an event means.
func (w *whole) Event(dst []byte, e *sdk.Event) []byte {
	w.scratch = w.stream.Event(w.scratch[:0], e)
	return dst
}

// End writes the response.
func (w *whole) End(dst []byte) []byte {
	if w.ended {
		return dst
	}
	w.scratch = w.stream.End(w.scratch[:0])
	return w.append(dst, w.status())
}

// answer is a response as it grows. Its texts are escaped.
type answer struct {
	opts      dialect.EncoderOptions
	id, model []byte
	items     []item
	calls     int
	usage     sdk.Usage
	reason    sdk.Reason
	finished  bool
	failure   *sdk.Failure
}

// kind is the type of an item.
type kind string

const (
	message    kind = "message"
	reasoning  kind = "reasoning"
	function   kind = "function_call"
	customTool kind = "custom_tool_call"
	foreign    kind = "" // an item that is written as it came
)

// item is one item of the output.
type item struct {
	kind         kind
	id           []byte
	parts        []part // of a message, or of a summary
	sealed       []byte // encrypted_content
	call         int    // as the events count it
	callID, name []byte
	body         []byte // arguments or input of a call; a foreign item whole
	signature    []byte // of a call
	status       status
}

// prefix is what the id of an item begins with.
func (k kind) prefix() string {
	switch k {
	case message:
		return "msg_"
	case reasoning:
		return "rs_"
	case function:
		return "fc_"
	}
	return "ctc_"
}

// status is how far a response or an item has come.
type status string

const (
	inProgress status = "in_progress"
	completed  status = "completed"
	cutShort   status = "incomplete"
	failed     status = "failed"
)

// partKind is the type of a part.
type partKind string

const (
	outputText  partKind = "output_text"
	refusal     partKind = "refusal"
	summaryText partKind = "summary_text"
)

// part is one part of a message or of a summary.
type part struct {
	kind        partKind
	text        []byte
	annotations []byte // items of an array
	notes       int    // their number
	logprobs    []byte // items of an array
}

// name settles the response's id and model by the event that begins the answer; nil where there was none. The id of another
// dialect's answer is no id of a response.
func (a *answer) name(begin *sdk.Event) {
	if a.id != nil {
		return
	}
	if begin != nil && begin.ID.HasPrefix("resp_") {
		a.id = bytes.Clone(begin.ID.Raw())
	} else {
		a.id = append([]byte("resp_"), a.request()...)
	}
	if a.opts.Model == "" && begin != nil {
		a.model = bytes.Clone(begin.Name.Raw())
	} else {
		a.model = jsonspan.AppendEscape(nil, []byte(a.opts.Model))
	}
}

func (a *answer) request() string { return strings.TrimPrefix(a.opts.RequestID, "req_") }

// status is that of the response at its end.
func (a *answer) status() status {
	switch {
	case a.failure != nil:
		return failed
	case a.reason == sdk.ReasonLength, a.reason == sdk.ReasonContext, a.reason == sdk.ReasonFilter:
		return cutShort
	case a.reason == sdk.ReasonRefusal && !a.refused():
		return cutShort
	case a.reason == sdk.ReasonFault:
		return failed
	}
	return completed
}

// refused says whether the refusal itself is said.
func (a *answer) refused() bool {
	for i := range a.items {
		for j := range a.items[i].parts {
			if a.items[i].parts[j].kind == refusal {
				return true
			}
		}
	}
	return false
}

// append writes the response. The members that only echo the request, which an encoder does not know, stand with the
// reference's defaults, as readers demand them.
func (a *answer) append(dst []byte, s status) []byte {
	dst = append(append(dst, `{"id":"`...), a.id...)
	dst = strconv.AppendInt(append(dst, `","object":"response","created_at":`...), a.opts.Created.Unix(), 10)
	dst = append(append(dst, `,"status":"`...), s...)
	dst = a.appendError(append(dst, `","error":`...), s)
	dst = a.appendIncomplete(append(dst, `,"incomplete_details":`...), s)
	dst = append(append(dst, `,"instructions":null,"metadata":{},"model":"`...), a.model...)
	dst = append(dst, `","output":[`...)
	for i := range a.items {
		if s == inProgress {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = a.items[i].append(dst, a.items[i].status)
	}
	dst = append(dst, `],"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"usage":`...)
	if s == inProgress {
		return append(dst, "null}"...)
	}
	return append(appendUsage(dst, a.usage), '}')
}

func (a *answer) appendError(dst []byte, s status) []byte {
	if s != failed {
		return append(dst, "null"...)
	}
	code, said := "", "the model could not write its answer"
	if a.failure != nil {
		_, code = dialect.OpenAIWords(a.failure)
		said = dialect.Said(a.failure)
	}
	if code == "" {
		code = "server_error"
	}
	dst = jsonspan.AppendQuote(append(dst, `{"code":`...), code)
	return append(jsonspan.AppendQuote(append(dst, `,"message":`...), said), '}')
}

func (a *answer) appendIncomplete(dst []byte, s status) []byte {
	switch {
	case s != cutShort:
		return append(dst, "null"...)
	case a.reason == sdk.ReasonLength, a.reason == sdk.ReasonContext:
		return append(dst, `{"reason":"max_output_tokens"}`...)
	}
	return append(dst, `{"reason":"content_filter"}`...)
}

// append writes the item with a status; in progress it is as empty as when it was added.
func (i *item) append(dst []byte, s status) []byte {
	if i.kind == foreign {
		return append(dst, i.body...)
	}
	empty := s == inProgress
	dst = append(append(dst, `{"id":"`...), i.id...)
	dst = append(append(dst, `","type":"`...), i.kind...)
	if i.kind != reasoning { // whose status only the service's own items have
		dst = append(append(dst, `","status":"`...), s...)
	}
	switch i.kind {
	case message:
		dst = i.appendParts(append(dst, `","role":"assistant","content":[`...), empty)
		return append(dst, "]}"...)
	case reasoning:
		dst = append(i.appendParts(append(dst, `","summary":[`...), empty), ']')
		if len(i.sealed) > 0 && !empty {
			dst = append(append(append(dst, `,"encrypted_content":"`...), i.sealed...), '"')
		}
		return append(dst, '}')
	}
	return i.appendCall(dst, empty)
}

func (i *item) appendParts(dst []byte, empty bool) []byte {
	if empty {
		return dst
	}
	for j := range i.parts {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = i.parts[j].append(dst)
	}
	return dst
}

func (i *item) appendCall(dst []byte, empty bool) []byte {
	dst = append(append(dst, `","call_id":"`...), i.callID...)
	dst = append(append(dst, `","name":"`...), i.name...)
	dst = append(append(append(dst, `","`...), i.input()...), `":"`...)
	if !empty {
		dst = append(dst, i.body...)
	}
	dst = append(dst, '"')
	if len(i.signature) > 0 && !empty { // as Google's own endpoint of chat completions has it
		dst = append(append(dst, `,"extra_content":{"google":{"thought_signature":"`...), i.signature...)
		dst = append(dst, `"}}`...)
	}
	return append(dst, '}')
}

// input is the name of the member that a call's text stands in.
func (i *item) input() string {
	if i.kind == customTool {
		return "input"
	}
	return "arguments"
}

// append writes the part.
func (p *part) append(dst []byte) []byte {
	dst = append(append(dst, `{"type":"`...), p.kind...)
	if p.kind == refusal {
		return append(append(append(dst, `","refusal":"`...), p.text...), `"}`...)
	}
	dst = append(append(append(dst, `","text":"`...), p.text...), '"')
	if p.kind == outputText {
		dst = append(append(dst, `,"annotations":[`...), p.annotations...)
		dst = append(append(dst, `],"logprobs":[`...), p.logprobs...)
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// ours says whether a foreign block is an item of this dialect. Clients fail on blocks of other services.
func ours(typ string) bool {
	switch typ {
	case "mcp_list_tools", "mcp_approval_request", "tool_search_output", "additional_tools", "program", "program_output", "compaction":
		return true
	}
	return strings.HasSuffix(typ, "_call") || strings.HasSuffix(typ, "_call_output")
}

// foreign is the item of a foreign block: one of this dialect as it stands, and a search of the web that Anthropic's tool
// made (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool) as one that OpenAI's has made. nil
// where there is none.
func (a *answer) foreign(e *sdk.Event) []byte {
	if !e.Value.Present() {
		return nil
	}
	if ours(e.Type) {
		return dialect.AppendLine(nil, e.Value.Raw())
	}
	var doc jsonspan.Doc
	if e.Type != "server_tool_use" || doc.Parse(e.Value.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return nil
	}
	if name, ok := member(&doc, 0, "name"); !ok || !doc.Is(name, "web_search") {
		return nil
	}
	body := append([]byte(`{"id":"ws_`), a.request()...)
	body = strconv.AppendInt(append(body, '_'), int64(len(a.items)), 10)
	body = append(body, `","type":"web_search_call","status":"completed","action":{"type":"search","query":`...)
	if query, ok := doc.Find(0, "input", "query"); ok && doc.Kind(query) == jsonspan.String {
		return append(append(body, doc.Raw(query)...), "}}"...)
	}
	return append(body, `""}}`...)
}

// appendAnnotation writes a citation, or nothing where it has no form here. A source on the web becomes a url_citation;
// where its range is not known that is empty.
func appendAnnotation(dst []byte, v sdk.Value) []byte {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return dst
	}
	t := typeOf(&doc, 0)
	from, nested := member(&doc, 0, "url_citation") // as chat completions have it
	if !nested {
		for _, known := range [...]string{"url_citation", "file_citation", "container_file_citation", "file_path"} {
			if t > 0 && doc.Is(t, known) {
				return dialect.AppendLine(dst, v.Raw())
			}
		}
	}
	text := func(dst []byte, name, otherwise string) []byte {
		if i, ok := member(&doc, from, name); ok {
			return append(dst, doc.Raw(i)...)
		}
		return append(dst, otherwise...)
	}
	if url, ok := member(&doc, from, "url"); !ok || doc.Kind(url) != jsonspan.String {
		return dst
	}
	dst = text(append(dst, `{"type":"url_citation","start_index":`...), "start_index", "0")
	dst = text(append(dst, `,"end_index":`...), "end_index", "0")
	dst = text(append(dst, `,"url":`...), "url", `""`)
	return append(text(append(dst, `,"title":`...), "title", `""`), '}')
}
