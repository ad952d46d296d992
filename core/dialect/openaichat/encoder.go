package openaichat

import (
	"strconv"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/sdk"
)

// NewEncoder makes the writer of one answer: chunks, or a whole chat.completion.
func (Dialect) NewEncoder(o dialect.EncoderOptions) dialect.Encoder {
	if !o.Stream {
		return &whole{opts: o}
	}
	return &stream{opts: o}
}

// stream writes an answer as chunks. Texts are written as they come, escaped as they are.
type stream struct {
	opts    dialect.EncoderOptions
	head    []byte // of each chunk, up to the choice's index; made when the answer's id is known
	choices []choice
	usage   sdk.Usage
	ended   bool
}

// choice is what has been written of one choice.
type choice struct {
	index    int
	begun    bool
	finished bool
	refused  bool
	calls    []call
	thought  thought
}

// call is what has been written of one tool call.
type call struct {
	number int // as the events count it; its place in the list is its index
	custom bool
	fed    bool // arguments have been written
	signed bool
	ended  bool
}

// Event appends the chunks that an event means. After the end of the answer, and of a choice, nothing is written.
func (s *stream) Event(dst []byte, e *sdk.Event) []byte {
	if s.ended || silent(e) {
		return dst
	}
	switch e.Kind {
	case sdk.Begin:
		if s.head == nil {
			s.head = appendHead(nil, s.opts, "chat.completion.chunk", e)
		}
		return dst
	case sdk.UsageSeen:
		s.usage = e.Usage
		return dst
	case sdk.Ping:
		return append(dst, Dialect{}.KeepAlive()...)
	case sdk.Failed:
		s.ended = true
		return Dialect{}.AppendStreamError(dst, &e.Failure, s.opts.RequestID)
	case sdk.Done, sdk.Foreign: // a foreign block has no form here
		return dst
	}
	c := s.choice(e.Choice)
	if c.finished {
		return dst
	}
	if e.Kind != sdk.Signature {
		dst = s.thought(dst, c)
	}
	switch e.Kind {
	case sdk.ToolBegin, sdk.ToolInput, sdk.ToolEnd:
		return s.tool(dst, c, e)
	case sdk.Finish:
		return s.finish(dst, c, e)
	}
	return s.delta(dst, c, e)
}

// silent says whether an event is a piece of nothing.
func silent(e *sdk.Event) bool {
	switch e.Kind {
	case sdk.TextDelta, sdk.ThinkingDelta, sdk.Signature, sdk.Redacted, sdk.RefusalDelta, sdk.ToolInput, sdk.Image:
		return e.Text.Empty()
	}
	return false
}

// delta writes what is said: text, reasoning, a refusal, and what belongs to them.
func (s *stream) delta(dst []byte, c *choice, e *sdk.Event) []byte {
	switch e.Kind {
	case sdk.TextDelta:
		return s.text(dst, c, "content", e.Text)
	case sdk.RefusalDelta:
		c.refused = true
		return s.text(dst, c, "refusal", e.Text)
	case sdk.ThinkingDelta:
		c.thought.add(e.Text)
		return s.text(dst, c, "reasoning_content", e.Text)
	case sdk.Signature:
		i := c.open()
		if i < 0 {
			c.thought.sign(e.Text)
		} else if k := &c.calls[i]; !k.signed {
			k.signed = true
			return s.callSignature(dst, c, i, e.Text)
		}
	case sdk.Redacted:
		dst = s.open(dst, c)
		dst = append(dst, `"reasoning_details":[`...)
		return s.close(append(c.thought.appendRedacted(dst, e.Text), ']'))
	case sdk.Citation:
		dst = s.open(dst, c)
		dst = append(dst, `"annotations":[`...)
		return s.close(append(appendAnnotation(dst, e.Value), ']'))
	case sdk.Image:
		dst = s.open(dst, c)
		dst = append(dst, `"images":[`...)
		return s.close(append(appendImage(dst, e), ']'))
	case sdk.Logprobs:
		dst = s.open(dst, c)
		dst = append(dst, `},"logprobs":`...)
		return s.shut(appendValue(dst, e.Value), "")
	}
	return dst
}

func (s *stream) text(dst []byte, c *choice, member string, t sdk.Text) []byte {
	dst = s.open(dst, c)
	dst = append(dst, '"')
	dst = append(dst, member...)
	dst = append(dst, `":"`...)
	dst = append(dst, t.Raw()...)
	return s.close(append(dst, '"'))
}

// choice gives the state of a choice.
func (s *stream) choice(index int) *choice {
	for i := range s.choices {
		if s.choices[i].index == index {
			return &s.choices[i]
		}
	}
	s.choices = append(s.choices, choice{index: index})
	return &s.choices[len(s.choices)-1]
}

// open begins a chunk up to the members of its delta. A choice begins with a chunk of its role alone, whose content is
// null where the choice begins with a tool call, as OpenAI has it.
func (s *stream) open(dst []byte, c *choice) []byte { return s.openAs(dst, c, `""`) }

func (s *stream) openAs(dst []byte, c *choice, content string) []byte {
	if !c.begun {
		c.begun = true
		dst = s.start(dst, c)
		dst = append(dst, `"role":"assistant","content":`...)
		dst = s.close(append(dst, content...))
	}
	return s.start(dst, c)
}

func (s *stream) start(dst []byte, c *choice) []byte {
	if s.head == nil {
		s.head = appendHead(nil, s.opts, "chat.completion.chunk", nil)
	}
	dst = append(dst, "data: "...)
	dst = append(dst, s.head...)
	dst = append(dst, `"choices":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	return append(dst, `,"delta":{`...)
}

// close ends a chunk whose delta is open.
func (s *stream) close(dst []byte) []byte { return s.shut(append(dst, '}'), "") }

// shut ends a chunk whose delta is closed. A client that asked for usage gets the member in each chunk.
func (s *stream) shut(dst []byte, reason string) []byte {
	dst = append(dst, `,"finish_reason":`...)
	dst = append(dialect.AppendQuoteOrNull(dst, reason), "}]"...)
	if reason != "" {
		dst = s.opts.Seams.Append(dst)
	}
	if s.opts.WantUsage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// tool writes a tool call, whose index is its place among the calls of its choice.
func (s *stream) tool(dst []byte, c *choice, e *sdk.Event) []byte {
	i := c.find(e.Call)
	switch {
	case e.Kind == sdk.ToolBegin && i < 0:
		c.calls = append(c.calls, call{number: e.Call, custom: e.Custom})
		return s.toolBegin(dst, c, e)
	case i < 0 || c.calls[i].ended:
	case e.Kind == sdk.ToolInput:
		c.calls[i].fed = true
		return s.toolInput(dst, c, i, e.Text.Raw())
	case e.Kind == sdk.ToolEnd:
		return s.toolEnd(dst, c, i)
	}
	return dst
}

func (c *choice) find(number int) int {
	for i := range c.calls {
		if c.calls[i].number == number {
			return i
		}
	}
	return -1
}

// open gives the call that a signature belongs to, which is the last one while it is open, or -1 where the signature is
// that of a thought.
func (c *choice) open() int {
	i := len(c.calls) - 1
	if i < 0 || c.calls[i].ended || len(c.thought.text) > 0 {
		return -1
	}
	return i
}

// callSignature writes a call's signature as Google's own endpoint of this dialect does.
func (s *stream) callSignature(dst []byte, c *choice, i int, sig sdk.Text) []byte {
	dst = s.open(dst, c)
	dst = append(dst, `"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, ',')
	dst = appendCallSignature(dst, sig.Raw())
	return s.close(append(dst, "}]"...))
}

func (s *stream) toolBegin(dst []byte, c *choice, e *sdk.Event) []byte {
	i := len(c.calls) - 1
	dst = s.openAs(dst, c, "null")
	dst = append(dst, `"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, `,"id":"`...)
	dst = appendCallID(dst, e.ID, s.opts.RequestID, c.index, i)
	dst = append(dst, `",`...)
	dst = appendCallHead(dst, e.Custom, e.Name.Raw())
	return s.close(append(dst, `"}}]`...))
}

func (s *stream) toolInput(dst []byte, c *choice, i int, raw []byte) []byte {
	dst = s.open(dst, c)
	dst = append(dst, `"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(i), 10)
	if c.calls[i].custom {
		dst = append(dst, `,"custom":{"input":"`...)
	} else {
		dst = append(dst, `,"function":{"arguments":"`...)
	}
	dst = append(dst, raw...)
	return s.close(append(dst, `"}}]`...))
}

// toolEnd ends a call. One without arguments gets {}: clients parse them.
func (s *stream) toolEnd(dst []byte, c *choice, i int) []byte {
	k := &c.calls[i]
	if k.ended {
		return dst
	}
	k.ended = true
	if k.fed || k.custom {
		return dst
	}
	return s.toolInput(dst, c, i, []byte("{}"))
}

// thought writes the signed form of a thought that has ended, so that a client that sends it back keeps the signature.
func (s *stream) thought(dst []byte, c *choice) []byte {
	if !c.thought.signed() {
		return dst
	}
	dst = s.open(dst, c)
	dst = append(dst, `"reasoning_details":[`...)
	return s.close(append(c.thought.appendSigned(dst), ']'))
}

// finish ends a choice.
func (s *stream) finish(dst []byte, c *choice, e *sdk.Event) []byte {
	for i := range c.calls {
		dst = s.toolEnd(dst, c, i)
	}
	c.finished = true
	word := finishWord(e.Reason, len(c.calls) > 0, c.refused)
	dst = append(s.open(dst, c), '}')
	if native, ok := e.Native.Decoded(); ok && native != "" && native != word {
		dst = append(dst, `,"native_finish_reason":"`...)
		dst = append(append(dst, e.Native.Raw()...), '"')
	}
	return s.shut(dst, word)
}

// End closes what is open and appends the usage that the client asked for, and [DONE].
func (s *stream) End(dst []byte) []byte {
	if s.ended {
		return dst
	}
	if len(s.choices) == 0 {
		s.choice(0)
	}
	for i := range s.choices {
		if c := &s.choices[i]; !c.finished {
			dst = s.thought(dst, c)
			dst = s.finish(dst, c, &sdk.Event{Kind: sdk.Finish})
		}
	}
	s.ended = true
	if s.opts.WantUsage && s.usage.Known {
		dst = append(dst, "data: "...)
		dst = append(dst, s.head...)
		dst = append(dst, `"choices":[],"usage":`...)
		dst = append(appendUsage(dst, s.usage), "}\n\n"...)
	}
	return appendDone(dst)
}

// appendDone writes the mark that a stream ends with.
func appendDone(dst []byte) []byte { return append(dst, "data: "+dialect.DoneMark+"\n\n"...) }
