package golden_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-gateway/penstock/sdk"
)

// odd is an answer that is not as its provider documents, as users of gateways and compatible services met it, and what it
// is understood as.
type odd struct {
	name   string
	target string // as aim has it
	stream string // server-sent events, or lines; a body where there is no blank line
	want   string // events on lines; those of a beginning and of usage are left out but where the test is of them
}

func TestOddAnswers(t *testing.T) {
	for _, o := range []odd{
		{"all calls at one place", "openai-responses", `
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"a","call_id":"ca","name":"f","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"a","delta":"1"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"a","call_id":"ca","name":"f","arguments":"1"}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"b","call_id":"cb","name":"g","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"b","delta":"2"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"b","call_id":"cb","name":"g","arguments":"2"}}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}
`, `
tool 0 begins: f id "ca" custom false
tool 0 input 1
tool 0 ends
tool 1 begins: g id "cb" custom false
tool 1 input 2
tool 1 ends
finish tool native "completed" stop ""
done`},
		{"calls at one place, at the same time", "openai-responses", `
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"a","call_id":"ca","name":"f","arguments":""}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"b","call_id":"cb","name":"g","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"a","delta":"1"}

data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"b","delta":"2"}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}
`, `
tool 0 begins: f id "ca" custom false
tool 1 begins: g id "cb" custom false
tool 0 input 1
tool 1 input 2
tool 0 ends
tool 1 ends
finish tool native "completed" stop ""
done`},
		{"one item that begins twice, under two ids", "openai-responses", `
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"a","call_id":"c","name":"f","arguments":""}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"b","call_id":"c","name":"f","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"x","delta":"1"}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}
`, `
tool 0 begins: f id "c" custom false
tool 0 input 1
tool 0 ends
finish tool native "completed" stop ""
done`},
		{"response.done", "openai-responses", `
data: {"type":"response.output_text.delta","output_index":0,"item_id":"a","delta":"x"}

data: {"type":"response.done","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}
`, `
text "x"
finish length native "max_output_tokens" stop ""
done`},
		{"response.done that failed", "openai-responses", `
data: {"type":"response.done","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slower"},"output":[]}}
`, `failed upstream_rate "slower" type "" code "rate_limit_exceeded"`},
		{"an error beside the response", "openai-responses", `
data: {"type":"response.failed","response":{"status":"failed","error":null,"output":[]},"error":{"message":"it broke","type":"server_error","code":"upstream_error"}}
`, `failed upstream_error "it broke" type "server_error" code "upstream_error"`},
		{"response.error", "openai-responses", `
data: {"type":"response.error","error":{"code":"too_many_requests","message":"slower"}}
`, `failed upstream_rate "slower" type "" code "too_many_requests"`},
		{"an error without its envelope", "anthropic", `
event: error
data: {"message":"it broke","code":529}
`, `failed upstream_error "it broke" type "" code ""`},
		{"input as a text", "ollama", `
{"created_at":"2026-01-01T00:00:00Z","message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]},"done":true,"done_reason":"stop"}
`, `
tool 0 begins: f id "a" custom false
tool 0 input {\"x\":1}
tool 0 ends
finish tool native "stop" stop ""
done`},
		{"usage of nothing at the end", "anthropic", `
event: message_start
data: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":7,"cache_read_input_tokens":2,"output_tokens":1}}}

event: message_delta
data: {"type":"message_delta","delta":{},"usage":{"input_tokens":0,"output_tokens":5}}

event: message_delta
data: {"type":"message_delta","delta":{},"usage":{"input_tokens":0,"cache_read_input_tokens":9,"output_tokens":6}}
`, `
begin m c
usage input 7 read 2 write 0 output 1 reasoning 0
usage input 7 read 2 write 0 output 5 reasoning 0
usage input 0 read 9 write 0 output 6 reasoning 0`},
	} {
		t.Run(o.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(o.want), "\n"), o.read(t)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotJSON sends a page of a proxy where an answer should be, as a whole and in a stream, behind what is one.
func TestNotJSON(t *testing.T) {
	const page = "<html><body>Bad Gateway</body></html>"
	for _, name := range []string{"openai", "openai-responses", "anthropic", "gemini", "cohere", "ollama"} {
		for _, streamed := range []bool{false, true} {
			p, native, _ := aim(t, name)
			events, err := read(p.NewDecoder(sdk.AnswerInfo{Native: native, Stream: streamed}), []frame{{data: page}, {data: page}}, true)
			if err != nil || len(events) != 1 || events[0].Kind != sdk.Failed || events[0].Failure.Kind != sdk.UpstreamError {
				t.Errorf("%s, streamed %v: %d events, error %v, want one failure of the provider", name, streamed, len(events), err)
			}
		}
	}
}

// read gives what the answer says.
func (o *odd) read(t *testing.T) (lines []string) {
	p, native, _ := aim(t, o.target)
	frames := split(o.stream)
	if !strings.Contains(o.stream, "data:") {
		frames = []frame{{data: strings.TrimSpace(o.stream)}}
	}
	events, err := read(p.NewDecoder(sdk.AnswerInfo{Native: native, Stream: true}), frames, true)
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Contains(o.want, "begin ")
	for i := range events {
		if k := events[i].Kind; named || k != sdk.Begin && k != sdk.UsageSeen {
			lines = append(lines, show(&events[i]))
		}
	}
	return lines
}
