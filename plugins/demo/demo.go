// Package demo is a provider that needs no account: it brings its own upstream, a server on the loopback interface that
// plays a few models. A request to it takes the whole path through the gateway, so the demonstration shows the real thing.
//
// The upstream speaks chat completions for clients that do, and for all others a form of its own, one JSON object a
// line, which shows how small a provider can be. Which names the models go by, and at what price, is the configuration's.
package demo

import (
	"encoding/json"
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

// New makes the provider. Its upstream starts when it is first configured, and ends with the process or with Close.
func New() sdk.Provider { return &provider{} }

type provider struct {
	mu       sync.Mutex // guards upstream: configuring is not the data plane's
	upstream *upstream
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
				Name: "openai-chat", Path: "/chat/completions", Framing: "sse", Terminated: true,
				Splice: []sdk.Splice{
					{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`)},
					{Op: "set", At: "/stream_options/include_usage", Value: json.RawMessage(`true`), When: "stream", Hides: "usage"},
				},
			},
		},
		Auth:         sdk.Auth{Kind: "none"},
		Capabilities: []sdk.Capabilities{{Match: "*", Can: []string{"tools", "parallel_tools"}}},
	}
}

// Configure starts the upstream and tells where it is. Its address holds a random name, so that nobody but the gateway
// finds it.
func (p *provider) Configure(string, []byte) (sdk.Configured, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.upstream == nil {
		u, err := startUpstream(sleep)
		if err != nil {
			return sdk.Configured{}, err
		}
		p.upstream = u
	}
	return sdk.Configured{BaseURL: p.upstream.url}, nil
}

// Close ends the upstream and waits for it.
func (p *provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.upstream == nil {
		return nil
	}
	u := p.upstream
	p.upstream = nil
	return u.close()
}
