package demo

import (
	"encoding/json"
	"strings"
	"time"
)

// chatRequest is what the upstream reads of a chat completion request.
type chatRequest struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Content chatContent `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// chatContent is the text of a message, written as a string or as a list of parts.
type chatContent string

// UnmarshalJSON reads either form; what is neither has no text.
func (c *chatContent) UnmarshalJSON(text []byte) error {
	var whole string
	if json.Unmarshal(text, &whole) == nil {
		*c = chatContent(whole)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(text, &parts) == nil {
		for _, p := range parts {
			*c += chatContent(p.Text)
		}
	}
	return nil
}

func (q *chatRequest) prompt() *prompt {
	p := &prompt{model: q.Model, stream: q.Stream, usage: q.StreamOptions.IncludeUsage}
	for _, m := range q.Messages {
		p.say = string(m.Content)
		p.bytes += len(m.Content)
	}
	for _, t := range q.Tools {
		p.tools = append(p.tools, t.Function.Name)
	}
	return p
}

type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index   int          `json:"index"`
	Message *chatMessage `json:"message,omitempty"`
	Delta   *chatMessage `json:"delta,omitempty"`
	Finish  *string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string     `json:"role,omitempty"`
	Content *string    `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// chatForm is the form of chat completions.
func chatForm() *form {
	return &form{
		media: "text/event-stream", before: "data: ", after: "\n\n",
		read: func(d *json.Decoder) (*prompt, error) {
			var q chatRequest
			err := d.Decode(&q)
			return q.prompt(), err
		},
		write: writeChat,
	}
}

// writeChat writes an answer as a chat completion.
func writeChat(out *pieces, p *prompt, a *answer) error {
	frame := chatAnswer{ID: a.id, Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: p.model}
	usage := &chatUsage{a.input, a.output, a.input + a.output}
	if !p.stream {
		frame.Object, frame.Usage = "chat.completion", usage
		m := &chatMessage{Role: "assistant", Calls: a.chatCalls(false)}
		if len(a.words) > 0 {
			text := strings.Join(a.words, "")
			m.Content = &text
		}
		frame.Choices = []chatChoice{{Message: m, Finish: a.finish()}}
		return out.send("", frame, "\n")
	}
	c := &chunks{out, frame}
	if err := c.answer(a); err != nil {
		return err
	}
	if p.usage {
		c.frame.Choices, c.frame.Usage = []chatChoice{}, usage
		if err := c.send("data: ", c.frame, "\n\n"); err != nil {
			return err
		}
	}
	return c.raw("data: [DONE]\n\n")
}

// chunks is a streamed chat completion under way.
type chunks struct {
	*pieces
	frame chatAnswer
}

// answer sends the role, the words, the calls and the reason of the end.
func (c *chunks) answer(a *answer) error {
	empty := ""
	if err := c.delta(&chatMessage{Role: "assistant", Content: &empty}, nil); err != nil {
		return err
	}
	err := c.words(a, func(word string) error { return c.delta(&chatMessage{Content: &word}, nil) })
	if err != nil {
		return err
	}
	for _, call := range a.chatCalls(true) {
		if err := c.delta(&chatMessage{Calls: []chatCall{call}}, nil); err != nil {
			return err
		}
	}
	return c.delta(&chatMessage{}, a.finish())
}

func (c *chunks) delta(m *chatMessage, finish *string) error {
	c.frame.Choices = []chatChoice{{Delta: m, Finish: finish}}
	return c.send("data: ", c.frame, "\n\n")
}

func (a *answer) finish() *string {
	reason := "stop"
	if len(a.calls) > 0 {
		reason = "tool_calls"
	}
	return &reason
}

// chatCalls gives the calls; those of a stream carry an index.
func (a *answer) chatCalls(indexed bool) []chatCall {
	var calls []chatCall
	for i, c := range a.calls {
		call := chatCall{ID: c.id, Type: "function", Function: chatFunction{c.name, c.input}}
		if indexed {
			call.Index = &i
		}
		calls = append(calls, call)
	}
	return calls
}
