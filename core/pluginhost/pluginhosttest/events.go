package pluginhosttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// event is what is kept of an event: its line in a fixture, and what checks need. It holds no frame.
type event struct {
	kind     sdk.EventKind
	line     string
	call     int
	id, name string
	text     string
	custom   bool
	usage    sdk.Usage
}

// kinds are the names of events in fixtures.
var kinds = [...]string{sdk.Begin: "begin", sdk.TextDelta: "text", sdk.ThinkingDelta: "thinking", sdk.Signature: "signature",
	sdk.Redacted: "redacted", sdk.RefusalDelta: "refusal", sdk.ToolBegin: "tool", sdk.ToolInput: "input", sdk.ToolEnd: "tool-end",
	sdk.Citation: "citation", sdk.Logprobs: "logprobs", sdk.Foreign: "foreign", sdk.UsageSeen: "usage", sdk.Finish: "finish",
	sdk.Failed: "failed", sdk.Ping: "ping", sdk.Done: "done"}

// reasons are the names of reasons in fixtures.
var reasons = [...]string{sdk.ReasonUnset: "unset", sdk.ReasonStop: "stop", sdk.ReasonStopText: "stop-text", sdk.ReasonLength: "length",
	sdk.ReasonContext: "context", sdk.ReasonTool: "tool", sdk.ReasonFilter: "filter", sdk.ReasonRefusal: "refusal",
	sdk.ReasonPause: "pause", sdk.ReasonFault: "fault"}

func appendEvents(dst []event, list []sdk.Event) []event {
	for i := range list {
		dst = append(dst, eventOf(&list[i]))
	}
	return dst
}

// eventOf keeps an event. Its line has the kind, the choice and the call where they are not 0, and what is present:
//
//	tool call=1 id="call_1" name="lookup"
func eventOf(e *sdk.Event) event {
	out := event{kind: e.Kind, call: e.Call, custom: e.Custom, usage: e.Usage}
	out.id, _ = e.ID.Decoded()
	out.name, _ = e.Name.Decoded()
	out.text, _ = e.Text.Decoded()
	var b strings.Builder
	b.WriteString(kinds[e.Kind])
	number := func(name string, n int64) {
		if n != 0 {
			fmt.Fprintf(&b, " %s=%d", name, n)
		}
	}
	text := func(name string, t sdk.Text) {
		if s, _ := t.Decoded(); t.Present() {
			b.WriteString(" " + name + "=" + strconv.Quote(s))
		}
	}
	number("choice", int64(e.Choice))
	number("call", int64(e.Call))
	text("id", e.ID)
	text("name", e.Name)
	text("text", e.Text)
	if e.Custom {
		b.WriteString(" custom")
	}
	if e.Type != "" {
		b.WriteString(" type=" + strconv.Quote(e.Type))
	}
	if e.Value.Present() {
		b.WriteString(" value=" + strings.Join(strings.Fields(string(e.Value.Raw())), " "))
	}
	if e.Kind == sdk.Finish {
		b.WriteString(" reason=" + reasons[e.Reason])
	}
	text("native", e.Native)
	text("stop", e.Stop)
	if e.Kind == sdk.UsageSeen {
		u := e.Usage
		number("input", u.Input)
		number("cache_read", u.CacheRead)
		number("cache_write", u.CacheWrite)
		number("output", u.Output)
		number("reasoning", u.Reasoning)
	}
	if e.Kind == sdk.Failed {
		fmt.Fprintf(&b, " kind=%s message=%q", e.Failure.Kind, e.Failure.Message)
	}
	out.line = b.String()
	return out
}

// linesOf is the text of a fixture's events.
func linesOf(events []event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.line + "\n")
	}
	return b.String()
}
