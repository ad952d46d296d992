// Package demo is a provider that needs no account: it brings its own upstream, a server on the loopback interface that
// plays a few models. A request to it takes the whole path through the gateway, so the demonstration shows the real thing.
//
// The upstream speaks chat completions for clients that do, and for all others a form of its own, one JSON object a
// line, which shows how small a provider can be. Which names the models go by, and at what price, is the configuration's.
package demo

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/penstock-gateway/penstock/sdk"
)

// The models of the upstream, as deployments name them.
const (
	Echo      = "echo"      // says the last message back, word by word
	Slow      = "slow"      // as Echo: the first word after 1.5 s, then 20 a second
	Busy      = "busy"      // answers 429
	Expensive = "expensive" // as Echo, and reports ExpensiveTokens
)

// ExpensiveTokens is what a call of [Expensive] reports in all, input and output together; at ExpensivePrice USD for a
// million tokens of either kind a call costs 1 USD.
const (
	ExpensiveTokens = 100_000
	ExpensivePrice  = 10
)

// FaultHeader is the header by which a chat completion asks any model for a fault: "x-demo-fault: 503". What is done to the
// plugin's own process, or to connections, is the configuration's alone to ask for.
const FaultHeader = "x-demo-fault"

// New makes the provider. Its upstream starts when it is first configured, and ends with the process or with Close.
func New() sdk.Provider {
	p := &provider{self: map[string]func(){}}
	for _, f := range Faults() {
		if f.self != nil {
			p.self[FaultModel+f.Name] = f.self
		}
	}
	return p
}

type provider struct {
	self     map[string]func() // by model: faults that are done to this process
	mu       sync.Mutex        // guards what follows: configuring is not the data plane's
	upstream *upstream
	doors    doors
}

// Manifest describes the demonstration.
func (p *provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "demo",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "models that need no account: echo, slow, busy, expensive",
		Dialects: []sdk.Dialect{
			{Name: "demo", Path: "/say", Framing: "ndjson", Terminated: true},
			{
				Name: "openai-chat", Path: "/chat/completions", Framing: "sse", Terminated: true, Forward: []string{FaultHeader},
				Splice: []sdk.Splice{
					{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`)},
					{Op: "set", At: "/stream_options/include_usage", Value: json.RawMessage(`true`), When: "stream", Hides: "usage"},
				},
			},
		},
		Auth:         sdk.Auth{Kind: "none"},
		ConfigSchema: configSchema(),
		Errors: []sdk.KnownError{
			{At: "/error/code", Equals: "context_length_exceeded", Kind: sdk.ContextTooLong.String()},
			{Status: 429, At: "/error/code", Equals: "insufficient_quota", Kind: sdk.UpstreamMoney.String()},
		},
		Capabilities: []sdk.Capabilities{{Match: "*", Can: []string{"tools", "parallel_tools"}}},
	}
}

// configSchema is that of providers.ID.config.
func configSchema() json.RawMessage {
	var names []string
	for _, f := range Faults() {
		if f.Connect {
			names = append(names, f.Name)
		}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
		"fault": map[string]any{"enum": names, "description": "what goes wrong with each connection to this provider"},
	}})
	if err != nil { // texts can always be marshalled
		panic(err)
	}
	return text
}

// Configure starts the upstream and tells where it is. Its address holds a random name, so that nobody but the gateway
// finds it.
func (p *provider) Configure(_ string, config []byte) (sdk.Configured, error) {
	var c struct {
		Fault string `json:"fault"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return sdk.Configured{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.upstream == nil {
		u, err := startUpstream(sleep)
		if err != nil {
			return sdk.Configured{}, err
		}
		p.upstream, p.doors.plain = u, u.url
	}
	if c.Fault == "" {
		return sdk.Configured{BaseURL: p.upstream.url}, nil
	}
	f, ok := p.upstream.faults[FaultModel+c.Fault]
	if !ok || !f.Connect {
		return sdk.Configured{}, fmt.Errorf("fault %q: is none of a connection", c.Fault)
	}
	u, err := p.doors.url(&f)
	return sdk.Configured{BaseURL: u}, err
}

// Close ends the upstream and waits for it.
func (p *provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.upstream == nil {
		return nil
	}
	p.doors.close()
	u := p.upstream
	p.upstream = nil
	return u.close()
}
