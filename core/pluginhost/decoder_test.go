package pluginhost

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

func TestOrder(t *testing.T) {
	f := func(want string, events ...sdk.Event) {
		t.Helper()
		var o order
		var err error
		for i := range events { // one by one: the order is of the answer, not of a message
			if err = o.check(events[i : i+1]); err != nil {
				break
			}
		}
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v: want %q", events, err, want)
		}
	}
	e := func(k sdk.EventKind, choice, call int) sdk.Event {
		return sdk.Event{Kind: k, Choice: choice, Call: call}
	}
	f("", e(sdk.Begin, 0, 0), e(sdk.TextDelta, 0, 0), e(sdk.ToolBegin, 0, 0), e(sdk.ToolBegin, 0, 1), e(sdk.ToolInput, 0, 0),
		e(sdk.ToolInput, 0, 1), e(sdk.ToolEnd, 0, 0), e(sdk.Finish, 0, 0), e(sdk.UsageSeen, 0, 0), e(sdk.Done, 0, 0))
	f("", e(sdk.ToolBegin, 0, 0), e(sdk.ToolBegin, 1, 0))
	f("", e(sdk.TextDelta, 0, 0))
	f("a second one", e(sdk.Begin, 0, 0), e(sdk.Begin, 0, 0))
	f("the answer is over", e(sdk.Done, 0, 0), e(sdk.Done, 0, 0))
	f("the answer is over", e(sdk.Failed, 0, 0), e(sdk.TextDelta, 0, 0))
	f("has begun call 0 before", e(sdk.ToolBegin, 0, 0), e(sdk.ToolBegin, 0, 0))
	f("has not begun call 1", e(sdk.ToolBegin, 0, 0), e(sdk.ToolInput, 0, 1))
	f("has not begun call 0", e(sdk.ToolBegin, 0, 0), e(sdk.ToolEnd, 1, 0))
	var many []sdk.Event
	for i := range maxTools + 1 {
		many = append(many, e(sdk.ToolBegin, i, 0))
	}
	f("more than 1024", many...)
}
