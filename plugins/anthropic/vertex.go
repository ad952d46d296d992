package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/oauth"
)

// settings are a provider's own configuration.
type settings struct {
	Preset   string `json:"preset"`
	Project  string `json:"project"`
	Location string `json:"location"`
}

const configSchema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "preset": {
      "enum": ["", "vertex"],
      "description": "Where the models are asked: at Anthropic, or on Vertex AI. A project alone says the latter.",
      "default": "",
      "examples": ["vertex"]
    },
    "project": {
      "type": "string",
      "pattern": "^[a-z0-9:.-]{1,80}$",
      "description": "The Google Cloud project, on Vertex AI. Where absent, requests go to Anthropic.",
      "examples": ["my-project"]
    },
    "location": {
      "type": "string",
      "pattern": "^[a-z0-9-]{1,40}$",
      "description": "The region on Vertex AI, the multi-region us or eu, or global.",
      "default": "global",
      "examples": ["europe-west1"]
    }
  }
}`

// vertexVersion is the version of the API on Vertex AI, where it stands in the body
// (https://platform.claude.com/docs/en/api/claude-on-vertex-ai).
const vertexVersion = "vertex-2023-10-16"

// Configure remembers the settings of provider id. With a project it is Vertex AI that is asked.
func (p *provider) Configure(id string, config []byte) (sdk.Configured, error) {
	var s settings
	if err := json.Unmarshal(config, &s); err != nil {
		return sdk.Configured{}, fmt.Errorf("provider %s: config: %v", id, err)
	}
	if s.Project == "" && (s.Preset != "" || s.Location != "") {
		return sdk.Configured{}, fmt.Errorf("provider %s: config.project: want the Google Cloud project", id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.vertex == nil {
		p.vertex = make(map[string]bool)
	}
	if p.vertex[id] = s.Project != ""; !p.vertex[id] {
		return sdk.Configured{}, nil
	}
	return sdk.Configured{BaseURL: s.address(), Dialects: []sdk.Dialect{onVertex()}, Auth: onGoogle()}, nil
}

// isVertex says whether provider id stands for Vertex AI.
func (p *provider) isVertex(id string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.vertex[id]
}

// address gives the base address of the project on Vertex AI
// (https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations).
func (s settings) address() string {
	location := cmp.Or(s.Location, "global")
	host := location + "-aiplatform.googleapis.com"
	switch location {
	case "global":
		host = "aiplatform.googleapis.com"
	case "us", "eu":
		host = "aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + host + "/v1/projects/" + s.Project + "/locations/" + location + "/publishers/anthropic"
}

// onVertex is the Messages API on Vertex AI: the model stands in the path, but where tokens are counted, and the version
// in the body.
func onVertex() sdk.Dialect {
	return sdk.Dialect{
		Name: "anthropic", Path: "/models/{model}:rawPredict", StreamPath: "/models/{model}:streamRawPredict",
		CountPath: "/models/count-tokens:rawPredict", Framing: "sse", Terminated: true,
		Forward: []string{"anthropic-beta"},
		Splice: []sdk.Splice{
			{Op: "set", At: "/anthropic_version", Value: json.RawMessage(`"` + vertexVersion + `"`)},
			{Op: "delete", At: "/model", When: "answer"},
			{Op: "replace", At: "/model", Value: json.RawMessage(`"{model}"`), When: "count"},
		},
	}
}

// onGoogle is how Vertex AI is asked: by tokens that the plugin fetches.
func onGoogle() *sdk.Auth { return &sdk.Auth{Kind: "token", Members: oauth.GoogleMembers()} }

// Authorize gives the header for Vertex AI. The credential holds service_account, the text of a key file for which a token
// is fetched, or access_token.
func (*provider) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	t, err := oauth.Google(ctx, r.Credential)
	if err != nil {
		return sdk.Authorization{}, fmt.Errorf("provider %s: %w", r.Provider, err)
	}
	return sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: t.Bearer()}}, Lifetime: t.Lifetime}, nil
}
