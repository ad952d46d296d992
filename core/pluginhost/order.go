package pluginhost

import (
	"fmt"

	"github.com/penstock-gateway/penstock/sdk"
)

// order sees that the events of an answer come in an order that every dialect can write: one beginning, one end, tool
// calls begun before their input. A plugin that breaks it is caught here, and not by the client.
type order struct {
	begun, over bool
	tools       []tool
}

// tool is a call that has begun.
type tool struct{ choice, call int }

// maxTools bounds the tool calls of one answer.
const maxTools = 1024

func (o *order) check(events []sdk.Event) error {
	for i := range events {
		e := &events[i]
		if o.over {
			return fmt.Errorf("event of kind %d: the answer is over", e.Kind)
		}
		switch e.Kind {
		case sdk.Begin:
			if o.begun {
				return fmt.Errorf("event Begin: a second one")
			}
			o.begun = true
		case sdk.Done, sdk.Failed:
			o.over = true
		case sdk.ToolBegin:
			if o.knows(e) {
				return fmt.Errorf("event ToolBegin: choice %d has begun call %d before", e.Choice, e.Call)
			}
			if len(o.tools) == maxTools {
				return fmt.Errorf("event ToolBegin: more than %d tool calls", maxTools)
			}
			o.tools = append(o.tools, tool{e.Choice, e.Call})
		case sdk.ToolInput, sdk.ToolEnd:
			if !o.knows(e) {
				return fmt.Errorf("event of kind %d: choice %d has not begun call %d", e.Kind, e.Choice, e.Call)
			}
		}
	}
	return nil
}

// knows says whether the event's tool call has begun; the last ones are the likeliest.
func (o *order) knows(e *sdk.Event) bool {
	for i := len(o.tools) - 1; i >= 0; i-- {
		if o.tools[i] == (tool{e.Choice, e.Call}) {
			return true
		}
	}
	return false
}
