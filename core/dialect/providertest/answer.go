package providertest

import (
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// Frame is one event of a stream.
type Frame struct{ Event, Data string }

// Split cuts a stream of server-sent events. How streams are framed is tested elsewhere; this reads the tame form.
func Split(stream string) []Frame {
	var frames []Frame
	for block := range strings.SplitSeq(strings.ReplaceAll(stream, "\r\n", "\n"), "\n\n") {
		var f Frame
		for line := range strings.SplitSeq(block, "\n") {
			if data, ok := strings.CutPrefix(line, "data:"); ok {
				f.Data += strings.TrimSpace(data)
			} else if event, ok := strings.CutPrefix(line, "event:"); ok {
				f.Event = strings.TrimSpace(event)
			}
		}
		if f.Data != "" {
			frames = append(frames, f)
		}
	}
	return frames
}

// Read feeds frames to a decoder, each in memory that is overwritten after the call: a decoder must keep nothing of one.
func Read(d sdk.Decoder, frames []Frame, end bool) (lines []string, said Said, err error) {
	for _, f := range frames {
		text := []byte(f.Data)
		in := &sdk.Frame{Event: f.Event, Text: text}
		var doc sdk.Doc
		if doc.Parse(text) == nil {
			in.Doc, in.Text = &doc, nil
		}
		var out sdk.Events
		err = d.Decode(in, &out)
		for i := range out.List {
			lines = append(lines, show(&out.List[i]))
			said.put(&out.List[i])
		}
		for i := range text {
			text[i] = '#'
		}
		if err != nil {
			return lines, said, err
		}
	}
	if end {
		var out sdk.Events
		err = d.End(&out)
		for i := range out.List {
			lines = append(lines, show(&out.List[i]))
			said.put(&out.List[i])
		}
	}
	return lines, said, err
}

// Said is what an answer says, put together.
type Said struct {
	Text, Reasoning string
	Calls           []string // name and input
	Reason          string   // the provider's own word
	Failed, Done    bool
}

func (s *Said) put(e *sdk.Event) {
	text, _ := e.Text.Decoded()
	switch e.Kind {
	case sdk.TextDelta:
		s.Text += text
	case sdk.ThinkingDelta:
		s.Reasoning += text
	case sdk.ToolBegin:
		s.Calls = append(s.Calls, string(e.Name.Raw())+" ")
	case sdk.ToolInput:
		s.Calls[e.Call] += text
	case sdk.Finish:
		s.Reason = string(e.Native.Raw())
	case sdk.Failed:
		s.Failed = true
	case sdk.Done:
		s.Done = true
	}
}

var kinds = map[sdk.EventKind]string{
	sdk.Begin: "begin", sdk.TextDelta: "text", sdk.ThinkingDelta: "thinking", sdk.Signature: "signature", sdk.Redacted: "redacted",
	sdk.RefusalDelta: "refusal", sdk.ToolBegin: "tool", sdk.ToolInput: "input", sdk.ToolEnd: "end", sdk.Citation: "citation",
	sdk.Logprobs: "logprobs", sdk.Foreign: "foreign", sdk.Image: "image", sdk.UsageSeen: "usage", sdk.Finish: "finish", sdk.Failed: "failed",
	sdk.Ping: "ping", sdk.Done: "done",
}

var reasons = [...]string{"unset", "stop", "stop text", "length", "context", "tool", "filter", "refusal", "pause", "fault"}

// show writes an event on a line: its kind and the members that it has.
func show(e *sdk.Event) string {
	line := kinds[e.Kind]
	if e.Choice > 0 {
		line += fmt.Sprint(" choice ", e.Choice)
	}
	switch e.Kind {
	case sdk.ToolBegin, sdk.ToolInput, sdk.ToolEnd:
		line += fmt.Sprint(" ", e.Call)
	case sdk.UsageSeen:
		u := e.Usage
		line += fmt.Sprintf(" input %d read %d write %d output %d reasoning %d disputed %v", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Disputed)
		if u.Searches > 0 {
			line += fmt.Sprintf(" searches %d", u.Searches)
		}
		return line
	case sdk.Finish:
		line += " " + reasons[e.Reason]
	case sdk.Failed:
		return line + fmt.Sprintf(" %v %q type %q code %q", e.Failure.Kind, e.Failure.Message, e.Failure.Type, e.Failure.Code)
	}
	for _, m := range []struct {
		name string
		raw  []byte
	}{{"id", e.ID.Raw()}, {"name", e.Name.Raw()}, {"", e.Text.Raw()}, {"type", []byte(e.Type)}, {"", e.Value.Raw()}, {"native", e.Native.Raw()}, {"stop", e.Stop.Raw()}} {
		if len(m.raw) > 0 {
			line += fmt.Sprintf(" %s%q", map[bool]string{false: m.name + " "}[m.name == ""], m.raw)
		}
	}
	return line
}
