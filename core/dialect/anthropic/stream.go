package anthropic

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// What waits for a tool call to end is bounded in bytes, and in events, as all of them are gone through for each call.
const (
	maxHeld       = 4 << 20
	maxHeldEvents = 1 << 10
)

// stream writes an answer as events. At most one block is open. What comes while a tool call is open and is not part of
// it, such as another call whose pieces alternate with its own, waits until it has ended: blocks cannot overlap, and a
// call's input cannot be taken up again.
type stream struct {
	opts    dialect.EncoderOptions
	who     identity
	end     ending
	usage   sdk.Usage
	started bool
	ended   bool
	failure *sdk.Failure

	open   block // the open block; "" none
	index  int   // its index, or that of the next
	signed bool  // the open thinking block has its signature
	call   int   // the open call, as the events count it
	custom bool  // it is a custom tool's
	begun  []int // the calls that have begun, held ones too
	calls  int   // those written

	held     []held
	heldSize int
}

// block is the type of a block that grows.
type block string

const (
	none     block = ""
	text     block = "text"
	thinking block = "thinking"
	toolUse  block = "tool_use"
)

// held is a copy of an event that waits.
type held struct {
	kind     sdk.EventKind
	call     int
	custom   bool
	typ      string
	id, name []byte
	body     []byte // text or value
}

var _ dialect.Bounded = (*stream)(nil)

// Failure says that more had to wait than is kept; nothing is written after it but the error.
func (s *stream) Failure() *sdk.Failure { return s.failure }

// Event appends the events that an event means.
func (s *stream) Event(dst []byte, e *sdk.Event) []byte {
	if s.ended || s.failure != nil {
		return dst
	}
	switch e.Kind {
	case sdk.Begin:
		s.who.name(s.opts, e)
		return dst
	case sdk.UsageSeen:
		s.usage = e.Usage
		return dst
	case sdk.Ping:
		return append(dst, ping...)
	case sdk.Failed:
		s.ended = true
		return Dialect{}.AppendStreamError(dst, &e.Failure, s.opts.RequestID)
	case sdk.Done, sdk.Logprobs:
		return dst
	}
	if e.Choice != 0 || s.end.finished {
		return dst
	}
	if e.Kind == sdk.ToolBegin {
		if slices.Contains(s.begun, e.Call) {
			return dst
		}
		s.begun = append(s.begun, e.Call)
	}
	s.end.note(e)
	dst = s.start(dst)
	if s.open == toolUse && s.foreignTo(e) {
		s.hold(e)
		return dst
	}
	return s.write(dst, e)
}

// foreignTo says whether an event is not part of the open call. A signature is the call's own while nothing waits. The
// reason of the end waits for nothing.
func (s *stream) foreignTo(e *sdk.Event) bool {
	switch e.Kind {
	case sdk.ToolInput, sdk.ToolEnd:
		return e.Call != s.call
	case sdk.Finish:
		return false
	case sdk.Signature:
		return len(s.held) > 0
	}
	return true
}

// write appends an event whose turn it is.
func (s *stream) write(dst []byte, e *sdk.Event) []byte {
	switch e.Kind {
	case sdk.TextDelta, sdk.RefusalDelta:
		return s.delta(dst, text, e.Text)
	case sdk.ThinkingDelta:
		return s.delta(dst, thinking, e.Text)
	case sdk.Image:
		return s.delta(dst, text, pictured(e))
	case sdk.Signature:
		if s.open == toolUse { // a call's own signature has no place here
			return dst
		}
		return s.sign(dst, e.Text)
	case sdk.Redacted:
		dst = s.startBlock(s.stopBlock(dst))
		dst = append(dst, `{"type":"redacted_thinking","data":"`...)
		return s.lone(append(append(dst, e.Text.Raw()...), `"}`...))
	case sdk.Foreign:
		for _, b := range foreignBlocks(e, s.opts.RequestID, s.index) {
			dst = s.startBlock(s.stopBlock(dst))
			dst = s.lone(append(dst, b...))
		}
		return dst
	case sdk.Citation:
		return s.cite(dst, e.Value)
	case sdk.ToolBegin:
		return s.toolBegin(dst, e)
	case sdk.ToolInput:
		return s.toolInput(dst, e)
	case sdk.ToolEnd:
		if s.open == toolUse && e.Call == s.call {
			return s.release(s.stopBlock(dst))
		}
	}
	return dst
}

// start begins the message with the first event that needs it, so that the usage that providers give early stands in it.
func (s *stream) start(dst []byte) []byte {
	if s.started {
		return dst
	}
	s.started = true
	s.who.name(s.opts, nil)
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = s.who.append(dst)
	dst = append(dst, `"content":[],"stop_reason":null,"stop_sequence":null,"usage":`...)
	dst = appendUsage(dst, s.usage, 0)
	return append(dst, "}}\n\n"...)
}

// delta appends a piece of text or thinking, in a block of its own where none of that type is open.
func (s *stream) delta(dst []byte, b block, t sdk.Text) []byte {
	if t.Empty() {
		return dst
	}
	dst = s.inBlock(dst, b)
	dst = s.startDelta(dst)
	if b == text {
		dst = append(dst, `"text_delta","text":"`...)
	} else {
		dst = append(dst, `"thinking_delta","thinking":"`...)
	}
	dst = append(dst, t.Raw()...)
	return append(dst, "\"}}\n\n"...)
}

// inBlock opens a block of a type that grows, unless one is open. A thought that has its signature is complete.
func (s *stream) inBlock(dst []byte, b block) []byte {
	if s.open == b && !s.signed {
		return dst
	}
	dst = s.startBlock(s.stopBlock(dst))
	s.open = b
	if b == text {
		return append(dst, "{\"type\":\"text\",\"text\":\"\"}}\n\n"...)
	}
	return append(dst, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"...)
}

// sign appends the signature of a thought; one without text has been left out by its provider and is signed all the same.
func (s *stream) sign(dst []byte, sig sdk.Text) []byte {
	if sig.Empty() {
		return dst
	}
	if s.open != thinking {
		dst = s.inBlock(dst, thinking)
	}
	s.signed = true
	dst = append(s.startDelta(dst), `"signature_delta","signature":"`...)
	dst = append(dst, sig.Raw()...)
	return append(dst, "\"}}\n\n"...)
}

func (s *stream) cite(dst []byte, v sdk.Value) []byte {
	if !citable(v) {
		return dst
	}
	dst = s.startDelta(s.inBlock(dst, text))
	dst = append(dst, `"citations_delta","citation":`...)
	dst = append(dst, v.Raw()...)
	return append(dst, "}}\n\n"...)
}

func (s *stream) toolBegin(dst []byte, e *sdk.Event) []byte {
	dst = s.startBlock(s.stopBlock(dst))
	dst = append(dst, `{"type":"tool_use","id":"`...)
	dst = appendCallID(dst, e.ID, s.opts.RequestID, s.calls)
	dst = append(append(dst, `","name":"`...), e.Name.Raw()...)
	dst = append(dst, "\",\"input\":{}}}\n\n"...)
	s.open, s.call, s.custom = toolUse, e.Call, e.Custom
	s.calls++
	if e.Custom { // free text becomes the one member of an object
		dst = append(s.startDelta(dst), `"input_json_delta","partial_json":"{\"input\":\"`...)
		dst = append(dst, "\"}}\n\n"...)
	}
	return dst
}

func (s *stream) toolInput(dst []byte, e *sdk.Event) []byte {
	if e.Text.Empty() || s.open != toolUse || e.Call != s.call {
		return dst
	}
	dst = append(s.startDelta(dst), `"input_json_delta","partial_json":"`...)
	if s.custom { // text of a string within the text of a string
		dst = jsonspan.AppendEscape(dst, e.Text.Raw())
	} else {
		dst = append(dst, e.Text.Raw()...)
	}
	return append(dst, "\"}}\n\n"...)
}

// startBlock appends the event that starts a block, up to the block.
func (s *stream) startBlock(dst []byte) []byte {
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(s.index), 10)
	return append(dst, `,"content_block":`...)
}

// lone ends a block that is complete in its start.
func (s *stream) lone(dst []byte) []byte {
	dst = append(dst, "}\n\n"...)
	s.open = text // any block that is open will do
	return s.stopBlock(dst)
}

// startDelta appends a delta of the open block, up to its type.
func (s *stream) startDelta(dst []byte) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(s.index), 10)
	return append(dst, `,"delta":{"type":`...)
}

// stopBlock ends the open block, if any.
func (s *stream) stopBlock(dst []byte) []byte {
	if s.open == none {
		return dst
	}
	if s.open == toolUse && s.custom {
		dst = append(s.startDelta(dst), `"input_json_delta","partial_json":"\"}`...)
		dst = append(dst, "\"}}\n\n"...)
	}
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(s.index), 10)
	s.open, s.signed, s.custom = none, false, false
	s.index++
	return append(dst, "}\n\n"...)
}

// hold keeps an event until its turn. Pieces of one text that follow each other become one, and so do all pieces of a
// call's input, whatever stands between them.
func (s *stream) hold(e *sdk.Event) {
	body := e.Text.Raw()
	if e.Kind == sdk.Foreign || e.Kind == sdk.Citation {
		body = e.Value.Raw()
	}
	if h := s.joins(e); h != nil {
		h.body = append(h.body, body...)
	} else {
		s.held = append(s.held, held{kind: e.Kind, call: e.Call, custom: e.Custom, typ: e.Type, id: bytes.Clone(e.ID.Raw()),
			name: bytes.Clone(e.Name.Raw()), body: bytes.Clone(body)})
	}
	s.heldSize += len(body) + len(e.ID.Raw()) + len(e.Name.Raw())
	if s.heldSize > maxHeld || len(s.held) > maxHeldEvents {
		s.held = nil
		s.failure = sdk.Fail(sdk.UpstreamError, "the provider mixes more tool calls than can be held in order")
	}
}

// joins gives the held event that an event continues.
func (s *stream) joins(e *sdk.Event) *held {
	switch e.Kind {
	case sdk.ToolInput:
		for i := len(s.held) - 1; i >= 0; i-- {
			h := &s.held[i]
			if h.call == e.Call && h.kind == sdk.ToolEnd {
				return nil
			}
			if h.call == e.Call && h.kind == sdk.ToolInput {
				return h
			}
		}
	case sdk.TextDelta, sdk.ThinkingDelta, sdk.RefusalDelta, sdk.Signature:
		if n := len(s.held) - 1; n >= 0 && s.held[n].kind == e.Kind {
			return &s.held[n]
		}
	}
	return nil
}

// release appends what has waited, up to the next call that has not ended, for which the rest waits on.
func (s *stream) release(dst []byte) []byte {
	list := s.held
	s.held, s.heldSize = nil, 0
	for i := range list {
		h := &list[i]
		e := sdk.Event{Kind: h.kind, Call: h.call, Custom: h.custom, Type: h.typ, ID: sdk.RawText(h.id), Name: sdk.RawText(h.name)}
		if h.kind == sdk.Foreign || h.kind == sdk.Citation {
			e.Value = sdk.RawValue(h.body)
		} else {
			e.Text = sdk.RawText(h.body)
		}
		if s.open == toolUse && s.foreignTo(&e) {
			s.hold(&e)
			continue
		}
		dst = s.write(dst, &e)
	}
	return dst
}

// End closes the block that is open, lets out what waits, and ends the message.
func (s *stream) End(dst []byte) []byte {
	if s.ended {
		return dst
	}
	s.ended = true
	if s.failure != nil {
		return Dialect{}.AppendStreamError(dst, s.failure, s.opts.RequestID)
	}
	dst = s.stopBlock(s.start(dst))
	for len(s.held) > 0 { // each turn writes the call that is first, so the list gets shorter
		dst = s.stopBlock(s.release(dst))
	}
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = s.end.append(dst)
	dst = append(dst, `},"usage":`...)
	dst = appendUsage(dst, s.usage, s.usage.TotalOutput())
	dst = append(s.opts.Seams.Append(dst), "}\n\n"...)
	return append(dst, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
