package sdk

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Plan is what Encode fills in: the request that the gateway is to send. Base URL and authentication are the gateway's;
// Path may hold the slot {model}.
type Plan struct {
	Method  string // "" is POST
	Path    string // appended to the base URL's path; "" is the manifest's for the dialect
	Headers []Header
	Body    Writer
	Dropped []Note   // members that were left out or approximated, named to the client in x-penstock-dropped
	Names   []Rename // tool names that the provider would not take; the gateway gives the client its own back
}

// Rename says that a tool goes by another name upstream.
type Rename struct{ Client, Upstream string }

// Header is a header field of a plan or a manifest.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Note says that a member was dropped or approximated, and why. A member that changes the meaning of the request is
// Strict: where the operator wants strict translation, it excludes the deployment.
//
// Path is the client's own, as Message.Path and PartPath give it, or the name of a member of the whole request as OpenAI's
// chat completions have it, such as "stop" or "reasoning": the gateway tells the client its own name for that.
type Note struct {
	Path        string
	Why         string
	Strict      bool
	Approximate bool // sent as something near to what was asked
}

// Approximate notes a member that was sent as something near to what was asked.
func (p *Plan) Approximate(path, why string) {
	p.Dropped = append(p.Dropped, Note{Path: path, Why: why, Approximate: true})
}

// DropAbout notes what the client says about a document and the provider has no members for: its context and the wish that
// it be cited and, where it has no titles either, its title.
func (p *Plan) DropAbout(path string, m *Media, titled bool) {
	const why = "the provider's documents have no such member"
	if !titled && !m.Title.Empty() {
		p.Drop(path+".title", why)
	}
	if !m.Context.Empty() {
		p.Drop(path+".context", why)
	}
	if strings.Contains(string(m.Citations.Raw()), "true") { // {"enabled":true}
		p.Drop(path+".citations", why)
	}
}

// ApproximateEffort notes an effort of reasoning that was sent as a budget of tokens, or as another effort.
func (p *Plan) ApproximateEffort(effort, sent string) {
	p.Approximate("reasoning", "an effort of "+effort+" is sent as "+sent)
}

// ApproximateBudget notes a budget of reasoning that was sent as an effort, or as another budget.
func (p *Plan) ApproximateBudget(tokens int, sent string) {
	p.Approximate("reasoning", "a budget of "+strconv.Itoa(tokens)+" tokens is sent as "+sent)
}

// Drop notes a member that was left out without changing what is asked.
func (p *Plan) Drop(path, why string) { p.Dropped = append(p.Dropped, Note{Path: path, Why: why}) }

// Lose notes a member that was left out and that changes what is asked.
func (p *Plan) Lose(path, why string) {
	p.Dropped = append(p.Dropped, Note{Path: path, Why: why, Strict: true})
}

// Writer writes one JSON text as literal bytes and references to what the gateway holds. It places commas and colons
// itself. The zero Writer is ready; Reset makes it so again and keeps its memory.
type Writer struct {
	lit   []byte
	segs  []Segment
	mark  int // start of the literal that is not yet a segment
	comma bool
}

// Segment is a piece of a written text: literal bytes, or a range of a handle in one of three forms.
type Segment struct {
	From, To int    // of the literals, or of the handle's bytes
	Handle   uint32 // 0: literal
	Form     uint8  // of a handle: 0 as it is, 1 unescaped (string content → JSON), 2 escaped (JSON → string content)
}

// Reset empties the writer.
func (w *Writer) Reset() { *w = Writer{lit: w.lit[:0], segs: w.segs[:0]} }

// Literals gives the literal bytes that segments refer to, and Segments the pieces in order.
func (w *Writer) Literals() []byte { return w.lit }

// Segments gives the pieces of the text in order.
func (w *Writer) Segments() []Segment {
	w.cut()
	return w.segs
}

// Bytes gives the text where nothing in it is held, which is so on the gateway's side.
func (w *Writer) Bytes() []byte { return w.lit }

// Empty says whether nothing has been written.
func (w *Writer) Empty() bool { return len(w.lit) == 0 && len(w.segs) == 0 }

func (w *Writer) cut() {
	if len(w.lit) > w.mark {
		w.segs = append(w.segs, Segment{From: w.mark, To: len(w.lit)})
		w.mark = len(w.lit)
	}
}

func (w *Writer) sep() {
	if w.comma {
		w.lit = append(w.lit, ',')
	}
	w.comma = true
}

func (w *Writer) open(c byte) {
	w.sep()
	w.lit = append(w.lit, c)
	w.comma = false
}

func (w *Writer) end(c byte) {
	w.lit = append(w.lit, c)
	w.comma = true
}

// Object begins an object; EndObject ends it.
func (w *Writer) Object() { w.open('{') }

// EndObject ends the object.
func (w *Writer) EndObject() { w.end('}') }

// Array begins an array; EndArray ends it.
func (w *Writer) Array() { w.open('[') }

// EndArray ends the array.
func (w *Writer) EndArray() { w.end(']') }

// Name writes a member's name, which must need no escaping; its value follows.
func (w *Writer) Name(name string) *Writer {
	w.sep()
	w.lit = append(w.lit, '"')
	w.lit = append(w.lit, name...)
	w.lit = append(w.lit, '"', ':')
	w.comma = false
	return w
}

// String writes a Go string.
func (w *Writer) String(s string) {
	w.sep()
	w.lit = jsonspan.AppendQuote(w.lit, s)
}

// Text writes a text; an absent one is "".
func (w *Writer) Text(t Text) { w.Joined(t) }

// Joined writes several texts as one string.
func (w *Writer) Joined(ts ...Text) {
	w.sep()
	w.lit = append(w.lit, '"')
	for _, t := range ts {
		w.put(t.span)
	}
	w.lit = append(w.lit, '"')
}

// Value writes a value; an absent one is null.
func (w *Writer) Value(v Value) {
	if !v.Present() {
		w.Null()
		return
	}
	w.sep()
	w.put(v.span)
}

// put writes a span: inline bytes into the literals, a held one as a segment.
func (w *Writer) put(s span) {
	if s.handle == 0 {
		w.lit = append(w.lit, s.raw...)
		return
	}
	w.cut()
	w.segs = append(w.segs, Segment{From: int(s.from), To: int(s.to), Handle: s.handle, Form: uint8(s.form)})
}

// Raw writes a complete JSON text.
func (w *Writer) Raw(json string) {
	w.sep()
	w.lit = append(w.lit, json...)
}

// Int writes an integer.
func (w *Writer) Int(n int64) {
	w.sep()
	w.lit = strconv.AppendInt(w.lit, n, 10)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) {
	w.sep()
	w.lit = strconv.AppendBool(w.lit, b)
}

// Null writes null.
func (w *Writer) Null() { w.Raw("null") }

// TextMember writes a member where the text is present.
func (w *Writer) TextMember(name string, t Text) {
	if t.Present() {
		w.Name(name).Text(t)
	}
}

// ValueMember writes a member where the value is present.
func (w *Writer) ValueMember(name string, v Value) {
	if v.Present() {
		w.Name(name).Value(v)
	}
}

// StringMember writes a member where s is not "".
func (w *Writer) StringMember(name, s string) {
	if s != "" {
		w.Name(name).String(s)
	}
}

// Purpose is what the vectors of a request for embeddings are for, where the client says so.
type Purpose uint8

// The purposes that more than one provider knows.
const (
	PurposeUnset Purpose = iota
	PurposeDocument
	PurposeQuery
	PurposeClassification
	PurposeClustering
)

// purposes are the clients' words: of Gemini's taskType (https://ai.google.dev/gemini-api/docs/embeddings, supported task
// types), and of the input_type that Cohere (https://docs.cohere.com/reference/embed), Voyage and NVIDIA have. Questions are
// queries of one kind or another.
var purposes = map[string]Purpose{
	"RETRIEVAL_DOCUMENT": PurposeDocument, "search_document": PurposeDocument, "document": PurposeDocument, "passage": PurposeDocument,
	"RETRIEVAL_QUERY": PurposeQuery, "CODE_RETRIEVAL_QUERY": PurposeQuery, "QUESTION_ANSWERING": PurposeQuery,
	"FACT_VERIFICATION": PurposeQuery, "search_query": PurposeQuery, "query": PurposeQuery,
	"CLASSIFICATION": PurposeClassification, "classification": PurposeClassification,
	"CLUSTERING": PurposeClustering, "clustering": PurposeClustering,
}

// Purpose finds what the vectors are for among the members that the middle form does not know, and gives those that are
// left. A word that is none of a purpose's is among these; inputs with purposes of their own are more than one request can
// say, which is [*Inexpressible].
func (r *Request) Purpose() (p Purpose, left []Member, err error) {
	for _, m := range r.Unknown {
		name := m.Path[strings.LastIndexByte(m.Path, '.')+1:]
		word := strings.Trim(string(m.Value.Raw()), `"`)
		found := purposes[word]
		switch {
		case name != "taskType" && name != "input_type" || found == PurposeUnset:
			left = append(left, m)
		case p != PurposeUnset && found != p:
			return p, left, &Inexpressible{What: "inputs of several purposes", Path: m.Path}
		default:
			p = found
		}
	}
	return p, left, nil
}

// FreeInput is the one parameter of the function that stands for a tool with free-form input. A plugin whose provider has
// functions only declares such a function and writes the earlier calls of it with {"input": "…"}; the gateway gives the
// client the calls of it as those of its tool, with the text alone.
const FreeInput = "input"

// AsFunction gives the function that stands for a tool with free-form input, and any other tool as it is. A grammar that
// the input must follow is told to the model in words, which is noted: it is not held to it.
func (p *Plan) AsFunction(t *Tool, path string) *Tool {
	if t.Kind != CustomTool {
		return t
	}
	says := []Text{T("The input of the tool, as free text. It is handed to the tool as it stands.")}
	var d Doc
	format, at := Node{}, path+".format"
	switch {
	case t.Raw.Held():
		p.Lose(path, "the tool is too large to look for a grammar in it")
	case d.Parse(t.Raw.Raw()) == nil:
		if format = d.Root().Get("format"); !format.Exists() { // as chat completions nest it
			format, at = d.Root().At("custom", "format"), path+".custom.format"
		}
	}
	if format.Get("type").Is("grammar") {
		grammar := format
		if nested := format.Get("grammar"); nested.Exists() {
			grammar = nested
		}
		says = append(says, T(" It must follow this grammar, in the syntax "), grammar.Get("syntax").Text(), T(":\n"),
			grammar.Get("definition").Text())
		p.Approximate(at, "the model is told of the grammar, and not held to it")
	}
	var w Writer
	w.Object()
	w.Name("type").String("object")
	w.Name("properties").Object()
	w.Name(FreeInput).Object()
	w.Name("type").String("string")
	w.Name("description").Joined(says...)
	w.EndObject()
	w.EndObject()
	w.Name("required").Array()
	w.String(FreeInput)
	w.EndArray()
	w.EndObject()
	return &Tool{Name: t.Name, Description: t.Description, Parameters: RawValue(w.Bytes()), Cache: t.Cache, Path: t.Path}
}

// Arguments writes the arguments of a call as an object, which is empty where there are none. A call with free-form input is
// one of the function that stands for its tool.
func (w *Writer) Arguments(c *Call) {
	switch {
	case c.Custom:
		w.Object()
		w.Name(FreeInput).Text(c.Input)
		w.EndObject()
	case c.Arguments.Present():
		w.Value(c.Arguments)
	default:
		w.Raw("{}")
	}
}

// ArgumentsText writes the same object as a string that holds its text.
func (w *Writer) ArgumentsText(c *Call) {
	switch {
	case c.Custom:
		w.Joined(RawText([]byte(`{\"`+FreeInput+`\":\"`)), c.Input.nested(), RawText([]byte(`\"}`)))
	case c.Arguments.Present():
		w.Text(c.Arguments.Text())
	default:
		w.String("{}")
	}
}

// nested is the text as it stands in a JSON text that is itself the content of a string.
func (t Text) nested() Text {
	if t.handle != 0 {
		t.form = escape
		return t
	}
	return Value(t).Text()
}
