package sdk

// Event is one thing that an answer says, whole or streamed: a whole answer is decoded into the same events as a stream,
// and the client's dialect writes either form of them.
//
// A well-formed answer is one Begin, then any number of the others, then one Finish for each choice; Usage may come at
// any time, and the last one counts.
type Event struct {
	Kind    EventKind
	Choice  int    // of several answers (n > 1)
	Call    int    // which tool call of the choice, from 0 in order of appearance: ToolBegin, ToolInput, ToolEnd
	ID      Text   // Begin: the answer's id; ToolBegin: the call's
	Name    Text   // Begin: the model that answered; ToolBegin: the tool's name
	Text    Text   // TextDelta, ThinkingDelta, Signature, Redacted, RefusalDelta, ToolInput (a piece of the JSON text of the arguments, or of a custom tool's input)
	Custom  bool   // ToolBegin: a custom tool
	Type    string // Foreign: the block's type
	Value   Value  // Foreign: the block; Citation: the citation or annotation; Logprobs
	Reason  Reason // Finish
	Native  Text   // Finish: the provider's own word
	Stop    Text   // Finish: the stop text that was met
	Usage   Usage
	Failure Failure // Failed
}

// EventKind says what an event is.
type EventKind uint8

// The kinds of events.
const (
	Begin EventKind = iota + 1
	TextDelta
	ThinkingDelta
	Signature
	Redacted
	RefusalDelta
	ToolBegin
	ToolInput
	ToolEnd
	Citation
	Logprobs
	Foreign
	UsageSeen
	Finish
	Failed
	Ping
	Done // the provider's own end mark has been seen: the answer is complete
)

// Content says whether an event commits the answer: text, reasoning, a refusal or a tool call that the client would see.
// Life-cycle events, pings and empty deltas are not content.
func (e *Event) Content() bool {
	switch e.Kind {
	case TextDelta, ThinkingDelta, RefusalDelta, ToolInput:
		return !e.Text.Empty()
	case ToolBegin, Redacted, Foreign:
		return true
	}
	return false
}

// Reason says why an answer ended.
type Reason uint8

// The reasons.
const (
	ReasonUnset    Reason = iota
	ReasonStop            // a natural end
	ReasonStopText        // a stop text was met
	ReasonLength          // the token limit
	ReasonContext         // the context window
	ReasonTool            // wants a tool
	ReasonFilter          // a filter cut the answer
	ReasonRefusal         // the model or the provider refused
	ReasonPause           // to be continued by the client
	ReasonFault           // the model failed: a malformed call, …
)

// Events collects what a decoder has to say. The gateway reads it after each call.
type Events struct{ List []Event }

// Add appends an event and gives it for filling in; the pointer is valid until the next Add.
func (o *Events) Add(k EventKind) *Event {
	o.List = append(o.List, Event{Kind: k})
	return &o.List[len(o.List)-1]
}

// Text appends a text delta where t is not empty.
func (o *Events) Text(choice int, t Text) { o.delta(TextDelta, choice, t) }

// Thinking appends a reasoning delta where t is not empty.
func (o *Events) Thinking(choice int, t Text) { o.delta(ThinkingDelta, choice, t) }

func (o *Events) delta(k EventKind, choice int, t Text) {
	if t.Empty() {
		return
	}
	e := o.Add(k)
	e.Choice, e.Text = choice, t
}
