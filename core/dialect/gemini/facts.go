package gemini

import (
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
)

// Facts reads what admission and routing need. It checks only what the gateway itself relies on: whatever else is wrong
// with a request that passes through, its provider says better.
func (Dialect) Facts(doc *jsonspan.Doc, f *dialect.Facts) error {
	r := facts{reader: reader{dialect.Read(doc)}, f: f}
	if r.Kind(0) != jsonspan.Object {
		r.Want(0, "an object")
		return r.Fault()
	}
	f.WantUsage = true // the dialect always shows it
	has := r.request(0)
	if whole := root(&r.reader, "generateContentRequest"); whole > 0 { // of countTokens
		has = r.request(whole) || has
	}
	if !has {
		r.Missing(0, "contents")
	}
	if r.thinkingOff {
		f.Needs &^= dialect.Thinking
	}
	return r.Fault()
}

// root gives a member of the whole request; 0 where there is none.
func root(r *reader, name string) int {
	for k, v := range r.Members(0) {
		if r.Kind(v) != jsonspan.Null && string(r.named(k)) == name {
			return v
		}
	}
	return 0
}

// facts is a walk over a request.
type facts struct {
	reader
	f           *dialect.Facts
	thinkingOff bool
}

func (r *facts) need(n dialect.Need) { r.f.Needs |= n }

func (r *facts) needIf(yes bool, n dialect.Need) {
	if yes {
		r.need(n)
	}
}

// request reads the members of a request and says whether it has contents.
func (r *facts) request(obj int) (has bool) {
	for k, v := range r.Members(obj) {
		if r.Kind(v) == jsonspan.Null {
			continue
		}
		switch string(r.named(k)) {
		case "contents":
			has = true
			r.contents(v)
		case "systemInstruction":
			r.f.TextBytes += len(r.Raw(v))
		case "tools":
			r.tools(v)
		case "generationConfig":
			if r.Object(v) {
				r.config(v)
			}
		case "cachedContent":
			r.f.State = r.Word(v)
		}
	}
	return has
}

func (r *facts) tools(v int) {
	if !r.list(v) || r.count(v) == 0 {
		return
	}
	r.need(dialect.Tools)
	r.f.TextBytes += len(r.Raw(v))
	for t := range r.each(v) {
		for k, d := range r.Members(t) {
			if string(r.named(k)) == "functionDeclarations" {
				r.f.Tools += r.count(d)
			} else {
				r.f.Tools++
			}
		}
	}
}

func (r *facts) config(v int) {
	for k, m := range r.Members(v) {
		if r.Kind(m) == jsonspan.Null {
			continue
		}
		switch string(r.named(k)) {
		case "maxOutputTokens":
			r.f.MaxOutput = r.Whole(m)
		case "candidateCount":
			r.needIf(r.Whole(m) > 1, dialect.Several)
		case "responseLogprobs":
			r.needIf(r.Kind(m) == jsonspan.True, dialect.Logprobs)
		case "responseSchema", "responseJsonSchema":
			r.need(dialect.JSONSchema)
		case "thinkingConfig":
			r.thinking(m)
		}
	}
}

func (r *facts) thinking(v int) {
	r.needIf(r.Kind(r.get(v, "includeThoughts")) == jsonspan.True, dialect.Thinking)
	if level := r.get(v, "thinkingLevel"); level > 0 {
		r.f.Effort = strings.ToLower(r.Word(level))
		r.need(dialect.Thinking)
	}
	if budget := r.get(v, "thinkingBudget"); budget > 0 {
		n, ok := r.Int(budget)
		r.thinkingOff = ok && n == 0
		r.need(dialect.Thinking)
	}
}

func (r *facts) contents(v int) {
	if !r.list(v) {
		return
	}
	r.f.Messages = r.count(v)
	if r.f.Messages == 0 {
		r.Refuse(v, "want at least one content")
	}
	prefill := false
	for c := range r.each(v) {
		r.f.Results = false
		if prefill = false; r.Object(c) {
			prefill = r.content(c)
		}
	}
	r.needIf(prefill, dialect.Prefill)
}

// content reads one turn; prefill says that it is the beginning of an answer where it is the last one.
func (r *facts) content(c int) (prefill bool) {
	parts := r.get(c, "parts")
	if !r.list(parts) {
		return false
	}
	calls := 0
	for p := range r.each(parts) {
		if r.Object(p) && r.part(p) {
			calls++
		}
	}
	r.needIf(calls > 0, dialect.Tools)
	r.needIf(calls > 1, dialect.ParallelTools)
	return calls == 0 && r.Is(r.get(c, "role"), "model")
}

// part counts the text of a part, sees what it calls for, and says whether it is a call.
func (r *facts) part(p int) (call bool) {
	for k, v := range r.Members(p) {
		switch string(r.named(k)) {
		case "text":
			r.Content(v)
			r.f.TextBytes += len(r.Inner(v))
		case "inlineData", "fileData":
			r.f.File(strings.ToLower(r.Word(r.get(v, "mimeType"))), r.Size(r.get(v, "data")))
		case "functionCall":
			call = true
			r.f.TextBytes += len(r.Raw(v))
		case "functionResponse":
			r.f.Results = true
			r.f.TextBytes += len(r.Raw(v))
		case "executableCode", "codeExecutionResult":
			r.f.TextBytes += len(r.Raw(v))
		}
	}
	return call
}
