package golden_test

import (
	"fmt"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// frame is one event of a stream.
type frame struct{ event, data string }

// split cuts a stream of server-sent events. How streams are framed is tested elsewhere; this reads the tame form.
func split(stream string) []frame {
	var frames []frame
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	for block := range strings.SplitSeq(stream, "\n\n") {
		var f frame
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			if rest, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(rest, " "))
			} else if rest, ok := strings.CutPrefix(line, "event:"); ok {
				f.event = strings.TrimSpace(rest)
			}
		}
		if f.data = strings.Join(data, "\n"); data != nil {
			frames = append(frames, f)
		}
	}
	return frames
}

// read feeds frames to a decoder one by one, each in memory of its own that is overwritten after the call: a decoder
// must keep nothing of a frame.
func read(d sdk.Decoder, frames []frame, end bool) ([]sdk.Event, error) {
	var events []sdk.Event
	for _, f := range frames {
		text := []byte(f.data)
		in := &sdk.Frame{Event: f.event, Text: text}
		var doc sdk.Doc
		if doc.Parse(text) == nil {
			in.Doc, in.Text = &doc, nil
		}
		var out sdk.Events
		err := d.Decode(in, &out)
		events = append(events, keep(out.List)...)
		for i := range text {
			text[i] = '#'
		}
		if err != nil {
			return events, err
		}
	}
	if !end {
		return events, nil
	}
	var out sdk.Events
	err := d.End(&out)
	return append(events, keep(out.List)...), err
}

// keep copies events out of their frame.
func keep(list []sdk.Event) []sdk.Event {
	for i := range list {
		e := &list[i]
		for _, t := range []*sdk.Text{&e.ID, &e.Name, &e.Text, &e.Native, &e.Stop} {
			if t.Present() {
				*t = sdk.RawText(append([]byte{}, t.Raw()...))
			}
		}
		if e.Value.Present() {
			e.Value = sdk.RawValue(append([]byte{}, e.Value.Raw()...))
		}
	}
	return list
}

// show writes an event on a line.
func show(e *sdk.Event) string {
	at := ""
	if e.Choice > 0 {
		at = fmt.Sprintf(" choice %d", e.Choice)
	}
	switch e.Kind {
	case sdk.Begin:
		return fmt.Sprintf("begin %s %s", e.ID.Raw(), e.Name.Raw())
	case sdk.TextDelta:
		return fmt.Sprintf("text%s %q", at, e.Text.Raw())
	case sdk.ThinkingDelta:
		return fmt.Sprintf("thinking%s %q", at, e.Text.Raw())
	case sdk.Signature:
		return fmt.Sprintf("signature%s %s", at, e.Text.Raw())
	case sdk.Redacted:
		return fmt.Sprintf("redacted%s %s", at, e.Text.Raw())
	case sdk.RefusalDelta:
		return fmt.Sprintf("refusal%s %q", at, e.Text.Raw())
	case sdk.ToolBegin:
		return fmt.Sprintf("tool%s %d begins: %s id %q custom %v", at, e.Call, e.Name.Raw(), e.ID.Raw(), e.Custom)
	case sdk.ToolInput:
		return fmt.Sprintf("tool%s %d input %s", at, e.Call, e.Text.Raw())
	case sdk.ToolEnd:
		return fmt.Sprintf("tool%s %d ends", at, e.Call)
	case sdk.Citation:
		return fmt.Sprintf("citation%s %s", at, e.Value.Raw())
	case sdk.Logprobs:
		return fmt.Sprintf("logprobs%s %s", at, e.Value.Raw())
	case sdk.Image:
		return fmt.Sprintf("image%s %s %s", at, e.Type, e.Text.Raw())
	case sdk.Foreign:
		return fmt.Sprintf("foreign%s %s %s", at, e.Type, e.Value.Raw())
	case sdk.UsageSeen:
		return "usage " + showUsage(e.Usage)
	case sdk.Finish:
		return fmt.Sprintf("finish%s %s native %q stop %q", at, reasons[e.Reason], e.Native.Raw(), e.Stop.Raw())
	case sdk.Failed:
		f := &e.Failure
		return fmt.Sprintf("failed %v %q type %q code %q", f.Kind, f.Message, f.Type, f.Code)
	case sdk.Ping:
		return "ping"
	case sdk.Done:
		return "done"
	}
	return fmt.Sprintf("event %d", e.Kind)
}

var reasons = map[sdk.Reason]string{
	sdk.ReasonUnset: "unset", sdk.ReasonStop: "stop", sdk.ReasonStopText: "stop-text", sdk.ReasonLength: "length",
	sdk.ReasonContext: "context", sdk.ReasonTool: "tool", sdk.ReasonFilter: "filter", sdk.ReasonRefusal: "refusal",
	sdk.ReasonPause: "pause", sdk.ReasonFault: "fault",
}

func showUsage(u sdk.Usage) string {
	s := fmt.Sprintf("input %d read %d write %d output %d reasoning %d", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning)
	if u.Disputed {
		s += " disputed"
	}
	return s
}
