package sdktest_test

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/sdktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider writes the first text of a request and reads one member.
type provider struct{}

func (provider) Manifest() sdk.Manifest { return sdk.Manifest{Name: "sample", Version: "1"} }

func (provider) Encode(q *sdk.Request, p *sdk.Plan) error {
	if len(q.Messages) == 0 {
		return &sdk.Inexpressible{What: "silence"}
	}
	p.Drop("user", "not known there")
	p.Body.Object()
	p.Body.TextMember("prompt", q.Messages[0].Parts[0].Text)
	p.Body.EndObject()
	return nil
}

func (provider) NewDecoder(sdk.AnswerInfo) sdk.Decoder { return decoder{} }

type decoder struct{}

func (decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	out.Text(0, f.Doc.Root().Get("text").Text())
	return nil
}

func (decoder) End(out *sdk.Events) error {
	out.Add(sdk.Done)
	return nil
}

func TestHarness(t *testing.T) {
	h := sdktest.New(t, provider{})
	long := strings.Repeat(`say \"it\" again, `, 1000)
	plan, err := h.Encode(&sdk.Request{Messages: []sdk.Message{{Role: sdk.User, Parts: []sdk.Part{{Kind: sdk.PartText, Text: sdk.RawText([]byte(long))}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"prompt":"` + long + `"}`; string(plan.Body) != want || len(plan.Segments) != 3 || len(plan.Dropped) != 1 {
		t.Errorf("got %d segments, dropped %v, body %.80s", len(plan.Segments), plan.Dropped, plan.Body)
	}
	if _, err := h.Encode(&sdk.Request{}); !errors.As(err, new(*sdk.Inexpressible)) {
		t.Errorf("got %v", err)
	}
	events, err := h.Decode(sdk.AnswerInfo{}, sdk.RawFrame{Data: []byte(`{"text":"short"}`)}, sdk.RawFrame{Data: []byte(`{"text":"` + long + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 3 || !events[0].Text.Is("short") || string(events[1].Text.Raw()) != long || events[2].Kind != sdk.Done {
		t.Errorf("got %d events: %.200v", len(events), events)
	}
}
