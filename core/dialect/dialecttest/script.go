package dialecttest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

// Events reads a script, one event a line: the kind, members as name=value, and at last a Go string that is the event's
// text, or JSON that is its value.
//
//	begin id=msg_1 name=up-model
//	text choice=1 "Hello\n"
//	tool call=0 id=c1 name=look
//	input call=0 "{}"
//	usage in=10 read=4 out=2
//	finish reason=stop native=end_turn
func Events(t *testing.T, script []byte) []sdk.Event {
	t.Helper()
	var events []sdk.Event
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		kind, ok := eventKinds[word]
		if !ok {
			t.Fatalf("%s: want an event", line)
		}
		e := sdk.Event{Kind: kind}
		for rest = strings.TrimSpace(rest); rest != "" && !strings.ContainsRune(`"{[`, rune(rest[0])); rest = strings.TrimSpace(rest) {
			var member string
			member, rest, _ = strings.Cut(rest, " ")
			name, value, _ := strings.Cut(member, "=")
			set(t, &e, name, value)
		}
		switch {
		case rest == "":
		case rest[0] == '"':
			text, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			e.Text = sdk.T(text)
		default:
			e.Value = sdk.RawValue([]byte(rest))
		}
		events = append(events, e)
	}
	return events
}

var eventKinds = map[string]sdk.EventKind{
	"begin": sdk.Begin, "text": sdk.TextDelta, "think": sdk.ThinkingDelta, "sign": sdk.Signature, "redacted": sdk.Redacted,
	"refuse": sdk.RefusalDelta, "tool": sdk.ToolBegin, "input": sdk.ToolInput, "end": sdk.ToolEnd, "cite": sdk.Citation,
	"logprobs": sdk.Logprobs, "foreign": sdk.Foreign, "usage": sdk.UsageSeen, "finish": sdk.Finish, "failed": sdk.Failed,
	"ping": sdk.Ping, "done": sdk.Done, "embed": sdk.Embedding, "image": sdk.Image,
}

// set gives an event one member.
func set(t *testing.T, e *sdk.Event, name, value string) {
	t.Helper()
	n, _ := strconv.Atoi(value)
	switch name {
	case "choice":
		e.Choice = n
	case "call":
		e.Call = n
	case "id":
		e.ID = sdk.T(value)
	case "name":
		e.Name = sdk.T(value)
	case "custom":
		e.Custom = value == "true"
	case "type":
		e.Type = value
	case "native":
		e.Native = sdk.T(value)
	case "stop":
		e.Stop = sdk.T(value)
	case "reason":
		for i, r := range reasons {
			if r == value {
				e.Reason = sdk.Reason(i)
			}
		}
	case "message":
		e.Failure = sdk.Failure{Kind: sdk.UpstreamError, Message: value}
	case "in", "out", "read", "write", "reasoning":
		e.Usage.Known = true
		*map[string]*int64{"in": &e.Usage.Input, "out": &e.Usage.Output, "read": &e.Usage.CacheRead,
			"write": &e.Usage.CacheWrite, "reasoning": &e.Usage.Reasoning}[name] = int64(n)
	default:
		t.Fatalf("%s: want a member of an event", name)
	}
}
