package openairesponses

import (
	"bytes"
	"strconv"

	"github.com/penstock-gateway/penstock/sdk"
)

// tool writes an event of a tool call.
func (s *stream) tool(dst []byte, e *sdk.Event) []byte {
	i := s.find(e.Call)
	switch {
	case e.Kind == sdk.ToolBegin && i < 0:
		it := item{kind: function, call: e.Call, name: bytes.Clone(e.Name.Raw()), callID: s.callID(e.ID)}
		if e.Custom {
			it.kind = customTool
		}
		s.calls++
		return s.add(s.shut(dst), it)
	case i < 0 || s.items[i].status != inProgress:
	case e.Kind == sdk.ToolInput && !e.Text.Empty():
		return s.feed(dst, i, e.Text.Raw())
	case e.Kind == sdk.ToolEnd:
		return s.toolEnd(dst, i, completed)
	}
	return dst
}

// callID is a call's id, or one that is made where its provider gives none: one that no other call of the answer or of
// another request has.
func (s *stream) callID(id sdk.Text) []byte {
	if !id.Empty() {
		return bytes.Clone(id.Raw())
	}
	made := append([]byte("call_"), s.request()...)
	return strconv.AppendInt(append(made, '_'), int64(s.calls), 10)
}

func (s *stream) find(call int) int {
	for i := range s.items {
		if s.items[i].callID != nil && s.items[i].call == call {
			return i
		}
	}
	return -1
}

// feed appends a piece of a call's input.
func (s *stream) feed(dst []byte, i int, raw []byte) []byte {
	name := "response.function_call_arguments.delta"
	if s.items[i].kind == customTool {
		name = "response.custom_tool_call_input.delta"
	}
	s.items[i].body = append(s.items[i].body, raw...)
	dst = append(append(s.about(dst, name, i), `,"delta":"`...), raw...)
	return append(dst, "\"}\n\n"...)
}

// toolEnd ends a call. One without arguments gets {}: clients parse them.
func (s *stream) toolEnd(dst []byte, i int, as status) []byte {
	if len(s.items[i].body) == 0 && s.items[i].kind == function {
		dst = s.feed(dst, i, []byte("{}"))
	}
	it := &s.items[i]
	if it.kind == customTool {
		dst = append(append(s.about(dst, "response.custom_tool_call_input.done", i), `,"input":"`...), it.body...)
	} else {
		dst = append(append(s.about(dst, "response.function_call_arguments.done", i), `,"name":"`...), it.name...)
		dst = append(append(dst, `","arguments":"`...), it.body...)
	}
	return s.close(append(dst, "\"}\n\n"...), i, as)
}
