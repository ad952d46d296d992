// Package bedrock is the provider of Amazon Bedrock's Converse API: it writes a request of any client dialect as a
// conversation, reads the answer, whole or as the events of a stream, and signs what is sent.
//
// Converse is one form for the models of all makers; what only one of them has goes beside it, in its own words, and
// this package knows those of Anthropic's, Amazon's and OpenAI's models. Connections, the framing of streams and retries
// are the gateway's.
package bedrock

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/penstock-gateway/penstock/sdk"
)

// New makes the provider.
func New() sdk.Provider { return &provider{now: time.Now} }

// provider holds the regions of the configured instances by provider id.
type provider struct {
	now     func() time.Time // signatures are dated
	mu      sync.RWMutex     // guards regions: configuring runs beside signing
	regions map[string]string
}

// defaultRegion is where requests go without configuration.
const defaultRegion = "us-east-1"

const configSchema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "region": {
      "type": "string",
      "pattern": "^[a-z]{2,}(-[a-z]+)+-[0-9]+$",
      "description": "The AWS region that serves the requests and that they are signed for.",
      "default": "us-east-1",
      "examples": ["eu-central-1"]
    }
  }
}`

// Manifest describes the Converse API
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html).
func (*provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "bedrock",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "Amazon Bedrock's Converse API",
		BaseURL:     address(defaultRegion),
		Dialects: []sdk.Dialect{{
			Name: "bedrock-converse", Path: "/model/{model}/converse", StreamPath: "/model/{model}/converse-stream",
			Framing: "aws-event-stream",
		}},
		Auth:         sdk.Auth{Kind: "signer"},
		Capabilities: capabilities(),
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

// address gives a region's endpoint (https://docs.aws.amazon.com/general/latest/gr/bedrock.html).
func address(region string) string { return "https://bedrock-runtime." + region + ".amazonaws.com" }

// Configure remembers the region of provider id.
func (p *provider) Configure(id string, config []byte) (sdk.Configured, error) {
	var s struct {
		Region string `json:"region"`
	}
	if err := json.Unmarshal(config, &s); err != nil {
		return sdk.Configured{}, fmt.Errorf("provider %s: config: %v", id, err)
	}
	if s.Region == "" {
		s.Region = defaultRegion
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.regions == nil {
		p.regions = make(map[string]string)
	}
	p.regions[id] = s.Region
	return sdk.Configured{BaseURL: address(s.Region)}, nil
}

func (p *provider) region(id string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if r := p.regions[id]; r != "" {
		return r
	}
	return defaultRegion
}

// capabilities are what Converse takes of some makers' models
// (https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html), with the
// limits that Anthropic publishes for its own (https://platform.claude.com/docs/en/about-claude/models/overview). A model
// that no pattern knows is taken to be able to do everything.
func capabilities() []sdk.Capabilities {
	basic := []string{"tools", "parallel_tools", "images", "documents", "prefill"}
	thinking := append(basic[:len(basic):len(basic)], "thinking")
	schema := append(thinking[:len(thinking):len(thinking)], "json_schema")
	latest := []string{"tools", "parallel_tools", "images", "documents", "thinking", "json_schema"}
	return []sdk.Capabilities{
		{Match: "*anthropic.claude-3-haiku*", Can: []string{"tools", "parallel_tools", "images", "prefill"}, Context: 200_000, MaxOutput: 4_096},
		{Match: "*anthropic.claude-3-5-*", Can: basic, Context: 200_000, MaxOutput: 8_192},
		{Match: "*anthropic.claude-3-7-*", Can: thinking, Context: 200_000, MaxOutput: 64_000},
		{Match: "*anthropic.claude-opus-4-[12]*", Can: thinking, Context: 200_000, MaxOutput: 32_000},
		{Match: "*anthropic.claude-sonnet-4-2*", Can: thinking, Context: 200_000, MaxOutput: 64_000},
		{Match: "*anthropic.claude-*-4-5*", Can: schema, Context: 200_000, MaxOutput: 64_000},
		{Match: "*anthropic.claude-*", Can: latest},
		{Match: "*amazon.nova-micro*", Can: []string{"tools"}},
		{Match: "*amazon.nova-2-*", Can: []string{"tools", "parallel_tools", "images", "documents", "thinking"}},
		{Match: "*amazon.nova-*", Can: []string{"tools", "parallel_tools", "images", "documents"}},
	}
}
