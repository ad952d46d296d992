package openai

import (
	"encoding/json"
	"testing"

	"github.com/penstock-gateway/penstock/sdk"
)

// encode gives the body that a request becomes.
func encode(t *testing.T, p sdk.Provider, r *sdk.Request) (string, *sdk.Plan) {
	t.Helper()
	plan := new(sdk.Plan)
	if err := p.Encode(r, plan); err != nil {
		t.Fatalf("Encode: %v", err)
	}
	body := string(plan.Body.Bytes())
	if !json.Valid([]byte(body)) {
		t.Fatalf("body is no JSON: %s", body)
	}
	return body, plan
}

func text(s string) sdk.Part { return sdk.Part{Kind: sdk.PartText, Text: sdk.T(s)} }

func user(parts ...sdk.Part) sdk.Message {
	return sdk.Message{Role: sdk.User, Parts: parts, Path: "messages[0]"}
}

func TestEncodeSmoke(t *testing.T) {
	body, _ := encode(t, New(), &sdk.Request{Model: "gpt-4.1", Stream: true, MaxOutput: 5, Messages: []sdk.Message{user(text("hi"))}})
	const want = `{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`
	if body != want {
		t.Errorf("body\n got %s\nwant %s", body, want)
	}
}
