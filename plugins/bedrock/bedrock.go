// Package bedrock is the provider of Amazon Bedrock: it writes a request of any client dialect as a conversation of the
// Converse API, reads the answer, whole or as the events of a stream, and signs what is sent.
//
// Converse is one form for the models of all makers; what only one of them has goes beside it, in its own words, and
// this package knows those of Anthropic's, Amazon's and OpenAI's models. Clients of Anthropic's Messages API who ask for
// Anthropic's models are passed through to InvokeModel, whose body is theirs, and never come here. Embeddings go to
// InvokeModel too, in the form of the model's maker. Connections, the framing of streams and retries are the gateway's.
package bedrock

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/penstock-gateway/penstock/sdk"
)

// New makes the provider.
func New() sdk.Provider { return &provider{now: time.Now, signer: v4.NewSigner()} }

// provider holds the regions of the configured instances by provider id.
type provider struct {
	now     func() time.Time // signatures are dated
	signer  *v4.Signer
	mu      sync.RWMutex // guards regions: configuring runs beside signing
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

// converse and converseStream are the paths of the Converse API
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html). A model may be named by an ARN,
// which holds colons and slashes.
const (
	converse       = "/model/{model_segment}/converse"
	converseStream = "/model/{model_segment}/converse-stream"
)

// Manifest describes the Converse API, and InvokeModel for Anthropic's models.
func (*provider) Manifest() sdk.Manifest {
	return sdk.Manifest{
		Name:        "bedrock",
		Version:     "1.0.0",
		Protocol:    sdk.Protocol,
		Description: "Amazon Bedrock: Converse, and InvokeModel for Anthropic's models",
		BaseURL:     address(defaultRegion),
		Dialects: []sdk.Dialect{
			{Name: "bedrock-converse", Path: converse, StreamPath: converseStream, Framing: "aws-event-stream"},
			messages(),
			{Name: embeddingsDialect, Path: "/model/{model_segment}/invoke"},
		},
		// A Bedrock API key is a header like others (https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html).
		Auth: sdk.Auth{Kind: "signer", Header: "Authorization", Format: "Bearer {api_key}",
			Members: [][]string{{"access_key_id", "secret_access_key"}}},
		Capabilities: capabilities(),
		Errors:       knownErrors(),
		ConfigSchema: json.RawMessage(configSchema),
	}
}

// messages is InvokeModel with Anthropic's models: the Messages API with the version and the beta features in the body, the
// model and whether to stream in the path, and a stream's events in base64 within the chunks of an event stream
// (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html,
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html).
func messages() sdk.Dialect {
	return sdk.Dialect{
		Name: anthropicDialect, Path: "/model/{model_segment}/invoke", StreamPath: "/model/{model_segment}/invoke-with-response-stream",
		Framing: "aws-event-stream", Unwrap: "/bytes", Terminated: true, Models: []string{"*anthropic.claude*"},
		Splice: []sdk.Splice{
			{Op: "set", At: "/anthropic_version", Value: json.RawMessage(`"bedrock-2023-05-31"`)},
			{Op: "set", At: "/anthropic_beta", Header: "anthropic-beta"},
			{Op: "delete", At: "/model"},
			{Op: "delete", At: "/stream"},
		},
	}
}

// anthropicDialect is the name of the Messages API among the dialects.
const anthropicDialect = "anthropic"

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
		{Match: "*embed*", Can: []string{"embeddings"}},
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
