package ollama

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// maxCalls bounds the calls of one answer.
const maxCalls = 4096

// NewDecoder makes the decoder of an answer, whole or streamed.
func (*provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder {
	if info.Native == embeddingsDialect {
		return sdk.Whole(vectors)
	}
	return &decoder{stream: info.Stream}
}

type decoder struct {
	stream  bool
	began   bool
	over    bool // Done or Failed has been said
	calls   int
	created string // when the answer began, which ids of calls are made of
}

// Decode reads one line of a stream, or a whole answer: both have the same form.
func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.over {
		return nil
	}
	if f.Doc == nil {
		if text := strings.TrimSpace(string(f.Text)); text != "" {
			d.fail(sdk.UpstreamError, sdk.NotJSON().Message, out)
		}
		return nil
	}
	root := f.Doc.Root()
	message := root.Get("message")
	switch text := root.Get("error"); {
	case !text.Null():
		d.fail(kindOf(text.Str()), text.Str(), out)
		return nil
	case !d.stream && !message.Exists():
		d.fail(sdk.UpstreamEmpty, "the provider's answer has no message", out)
		return nil
	}
	if !d.began {
		d.began = true
		d.created = strings.Clone(root.Get("created_at").Str())
		out.Add(sdk.Begin).Name = root.Get("model").Text()
	}
	out.Thinking(0, message.Get("thinking").Text())
	out.Text(0, message.Get("content").Text())
	for c := range message.Get("tool_calls").Items() {
		if err := d.call(c, out); err != nil {
			return err
		}
	}
	if root.Get("done").True() || !d.stream {
		d.finish(root, out)
	}
	return nil
}

// End has nothing to add: a complete stream has said its end.
func (d *decoder) End(*sdk.Events) error { return nil }

func (d *decoder) fail(k sdk.Kind, message string, out *sdk.Events) {
	if message == "" {
		message = "the provider answered with an error"
	}
	d.over = true
	out.Add(sdk.Failed).Failure = *sdk.Fail(k, strings.Clone(message))
}

// call reads a call, which comes whole. Only newer versions give it an id.
func (d *decoder) call(c sdk.Node, out *sdk.Events) error {
	if d.calls == maxCalls {
		return fmt.Errorf("tool call %d: want at most %d calls in an answer", d.calls, maxCalls)
	}
	f := c.Get("function")
	e := out.Add(sdk.ToolBegin)
	e.Call, e.ID, e.Name = d.calls, c.Get("id").Text(), f.Get("name").Text()
	if e.ID.Empty() {
		sum := sha256.Sum256([]byte(d.created))
		e.ID = sdk.T("call_" + hex.EncodeToString(sum[:8]) + "_" + strconv.Itoa(d.calls))
	}
	args := f.Get("arguments")
	input := args.Text() // a text where a service has it from OpenAI
	if args.Len() > 0 {
		input = args.Value().Text()
	}
	if !input.Empty() {
		e := out.Add(sdk.ToolInput)
		e.Call, e.Text = d.calls, input
	}
	out.Add(sdk.ToolEnd).Call = d.calls
	d.calls++
	return nil
}

// finish reads figures and why the answer ended. A prompt that is in the model's cache already has no figure.
func (d *decoder) finish(root sdk.Node, out *sdk.Events) {
	prompt, output := root.Get("prompt_eval_count"), root.Get("eval_count")
	if prompt.Exists() || output.Exists() {
		out.Add(sdk.UsageSeen).Usage = sdk.UsageWithin(sdk.Counts{Input: prompt.Int(), Output: output.Int()})
	}
	native := root.Get("done_reason")
	e := out.Add(sdk.Finish)
	e.Native, e.Reason = native.Text(), sdk.ReasonStop
	switch {
	case native.Is("length"):
		e.Reason = sdk.ReasonLength
	case d.calls > 0:
		e.Reason = sdk.ReasonTool
	}
	d.over = true
	out.Add(sdk.Done)
}
