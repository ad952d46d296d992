package anthropic

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewEncoder makes the writer of one answer: events, or a whole message. The dialect has one answer: of several, the
// first is written.
func (Dialect) NewEncoder(o dialect.EncoderOptions) dialect.Encoder {
	if !o.Stream {
		return &whole{opts: o}
	}
	return &stream{opts: o}
}

// ending is what is known of an answer's end.
type ending struct {
	reason   sdk.Reason
	stop     []byte // the stop text that was met, escaped
	calls    bool
	refused  bool
	finished bool
}

// note takes in what an event says about the end.
func (n *ending) note(e *sdk.Event) {
	switch e.Kind {
	case sdk.ToolBegin:
		n.calls = true
	case sdk.RefusalDelta:
		n.refused = n.refused || !e.Text.Empty()
	case sdk.Finish:
		if !n.finished {
			n.finished, n.reason, n.stop = true, e.Reason, append([]byte(nil), e.Stop.Raw()...)
		}
	}
}

// append writes stop_reason and stop_sequence. An answer that calls tools ends for them even where its provider says that
// it just stopped: agents go on only then.
func (n *ending) append(dst []byte) []byte {
	dst = append(dst, `"stop_reason":"`...)
	dst = append(dst, n.word()...)
	dst = append(dst, `","stop_sequence":`...)
	if n.word() != "stop_sequence" || len(n.stop) == 0 {
		return append(dst, "null"...)
	}
	return append(append(append(dst, '"'), n.stop...), '"')
}

func (n *ending) word() string {
	switch n.reason {
	case sdk.ReasonLength:
		return "max_tokens"
	case sdk.ReasonContext:
		return "model_context_window_exceeded"
	case sdk.ReasonFilter, sdk.ReasonRefusal:
		return "refusal"
	case sdk.ReasonPause:
		return "pause_turn"
	}
	switch {
	case n.calls && n.reason != sdk.ReasonFault:
		return "tool_use"
	case n.refused:
		return "refusal"
	case n.reason == sdk.ReasonStopText:
		return "stop_sequence"
	}
	return "end_turn"
}

// identity is the id and the model of an answer, escaped.
type identity struct{ id, model []byte }

// name settles the identity by the event that begins the answer; nil where there was none.
func (n *identity) name(o dialect.EncoderOptions, begin *sdk.Event) {
	if n.id != nil {
		return
	}
	if begin != nil && !begin.ID.Empty() {
		n.id = bytes.Clone(begin.ID.Raw())
	} else {
		n.id = append([]byte("msg_"), strings.TrimPrefix(o.RequestID, "req_")...)
	}
	if o.Model == "" && begin != nil {
		n.model = bytes.Clone(begin.Name.Raw())
	} else {
		n.model = jsonspan.AppendEscape(nil, []byte(o.Model))
	}
}

// append writes the members that a message begins with.
func (n *identity) append(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), n.id...)
	dst = append(dst, `","type":"message","role":"assistant","model":"`...)
	return append(append(dst, n.model...), `",`...)
}

// appendCallID writes a call's id, or makes one where its provider gives none: one that no other call of the answer
// or of another request has.
func appendCallID(dst []byte, id sdk.Text, requestID string, n int) []byte {
	if !id.Empty() {
		return append(dst, id.Raw()...)
	}
	dst = append(dst, "toolu_"...)
	dst = append(dst, strings.TrimPrefix(requestID, "req_")...)
	return appendInt(append(dst, '_'), n)
}

// pictured tells in words of a picture that the model has made: an answer of this dialect has no place for one.
func pictured(e *sdk.Event) sdk.Text {
	return sdk.T("\n[a picture, " + e.Type + ", " + strconv.Itoa(e.Text.Len()/4*3) + " bytes: this API cannot show what models draw]\n")
}

// ours says whether a foreign block is one of this dialect: of a server tool, or of a kind of Anthropic's own. Clients
// fail on blocks of other services.
func ours(typ string) bool {
	switch typ {
	case "server_tool_use", "mcp_tool_use", "container_upload", "compaction", "fallback", "search_result":
		return true
	}
	return strings.HasSuffix(typ, "_tool_result")
}

// citable says whether a citation is of this dialect's types. Those of others are left out: a client sends what it got
// back, and Anthropic refuses a citation that is not its own.
func citable(v sdk.Value) bool {
	var doc jsonspan.Doc
	if doc.Parse(v.Raw(), jsonspan.Limits{AllowDuplicates: true}) != nil {
		return false
	}
	t, ok := member(&doc, 0, "type")
	return ok && bytes.HasSuffix(doc.Inner(t), []byte("_location"))
}
