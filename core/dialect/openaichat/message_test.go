package openaichat

import (
	"strings"
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/dialecttest"
)

// TestMessagesInStreams: a message in the place of a delta is sent as one, what only repeats the deltas is not.
func TestMessagesInStreams(t *testing.T) {
	choices := func(list []string) (data []string) {
		for _, c := range list {
			data = append(data, `{"choices":[{"index":0,`+c+`}],"usage":null}`)
		}
		return data
	}
	f := func(name, want string, in, out []string) {
		t.Helper()
		for _, hide := range [...]bool{false, true} {
			wanted := string(sse(choices(out)...))
			if hide {
				wanted = strings.ReplaceAll(wanted, `,"usage":null`, "")
			}
			got := dialecttest.Observe(t, Dialect{}.NewObserver(dialect.ObserverOptions{Stream: true, HideUsage: hide}), sse(choices(in)...))
			if s := summary(got); s != want || string(got.Out) != wanted {
				t.Errorf("%s: %s, %s\nwant %s, %s", name, s, got.Out, want, wanted)
			}
		}
	}
	f("in each chunk", "content stop",
		[]string{`"message":{"role":"assistant","content":""}`, `"message":{"content":"a"},"finish_reason":null`, `"message":{"content":"b"}`, `"finish_reason":"stop","message":{}`},
		[]string{`"delta":{"role":"assistant","content":""}`, `"delta":{"content":"a"},"finish_reason":null`, `"delta":{"content":"b"}`, `"finish_reason":"stop","delta":{}`})
	f("without an end", "content", []string{`"message":{"content":"a"}`}, []string{`"delta":{"content":"a"}`})
	f("beside null", "content stop", []string{`"delta":null,"message":{"content":"a"},"finish_reason":"stop"`}, []string{`"delta":{"content":"a"},"finish_reason":"stop"`})
	f("after a role", "content stop", []string{`"delta":{"role":"assistant"}`, `"message":{"content":"a"},"finish_reason":"stop"`},
		[]string{`"delta":{"role":"assistant"}`, `"delta":{"content":"a"},"finish_reason":"stop"`})
	minimax := []string{`"delta":{"content":"a"}`, `"delta":{"content":"b"}`, `"finish_reason":"stop","message":{"content":"ab","tool_calls":[{"id":"c"}]}`}
	f("after deltas", "content stop", minimax, []string{minimax[0], minimax[1], `"finish_reason":"stop","delta":{}`})
	perplexity := []string{`"message":{"content":"a"},"delta":{"content":"a"}`, `"delta":{"content":"b"},"message":{"content":"ab"}`, `"delta":{"content":""},"message":{"content":"ab"},"finish_reason":"stop"`}
	f("beside deltas", "content stop", perplexity, perplexity)
	f("no object", "stop", []string{`"message":"a","finish_reason":"stop"`}, []string{`"message":"a","finish_reason":"stop"`})
	f("neither", "", []string{`"content_filter_results":{}`}, []string{`"content_filter_results":{}`})
	f("calls", "content tool",
		[]string{`"message":{"tool_calls":[{"id":"c"},{"id":"d","index":1},7]}`, `"message":{"tool_calls":[{}]},"finish_reason":"tool_calls"`},
		[]string{`"delta":{"tool_calls":[{"id":"c","index":0},{"id":"d","index":1},7]}`, `"delta":{"tool_calls":[{"index":2}]},"finish_reason":"tool_calls"`})
}
