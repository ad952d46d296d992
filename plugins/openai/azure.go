package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/oauth"
)

// azure is what a provider's own configuration says of OpenAI's models on Azure.
type azure struct {
	Resource   string `json:"resource"`
	APIVersion string `json:"api_version"`
	Authority  string `json:"authority"`
	Scope      string `json:"scope"`
}

// azureProperties are azure's members in the schema of the configuration.
const azureProperties = `
    "resource": {
      "type": "string",
      "pattern": "^[a-zA-Z0-9-]{1,64}$",
      "description": "Preset azure: the resource's name, which makes the address https://NAME.openai.azure.com. Otherwise base_url says where it is.",
      "examples": ["my-resource"]
    },
    "api_version": {
      "type": "string",
      "pattern": "^(preview|latest|[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?)$",
      "description": "Preset azure: a dated version asks by the paths of deployments, /openai/deployments/MODEL/…. Where absent, /openai/v1 is asked, which has no versions.",
      "examples": ["2024-10-21"]
    },
    "authority": {
      "type": "string",
      "pattern": "^https?://",
      "description": "Preset azure: where Entra tokens are fetched for credentials with tenant_id, client_id and client_secret.",
      "default": "https://login.microsoftonline.com",
      "examples": ["https://login.microsoftonline.us"]
    },
    "scope": {
      "type": "string",
      "pattern": "^\\S+$",
      "description": "Preset azure: the scope that Entra tokens are asked for.",
      "default": "https://cognitiveservices.azure.com/.default",
      "examples": ["https://ai.azure.com/.default"]
    }`

// azureAuth is a key in a header of its own, or else an Entra token
// (https://learn.microsoft.com/azure/ai-foundry/openai/reference#authentication).
func azureAuth() *sdk.Auth { return &sdk.Auth{Kind: "token", Header: "api-key", Format: "{api_key}"} }

// azureHost stands where the resource is not known; the gateway then wants a base_url.
const azureHost = "https://<resource>.openai.azure.com"

// dated says whether the deployments' paths are asked, which have the model in them
// (https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
func (a *azure) dated() bool {
	return a.APIVersion != "" && a.APIVersion[0] >= '0' && a.APIVersion[0] <= '9'
}

// configured gives the address and the dialects of a resource.
func (a *azure) configured(ds []sdk.Dialect) sdk.Configured {
	base := azureHost
	if a.Resource != "" {
		base = "https://" + strings.ToLower(a.Resource) + ".openai.azure.com"
	}
	if a.APIVersion == "" {
		return sdk.Configured{BaseURL: base + "/openai/v1"}
	}
	path := "/openai/v1"
	if a.dated() {
		path = "/openai"
	}
	for i := range ds {
		d := &ds[i]
		if a.dated() && d.Name != responsesDialect {
			d.Path = "/deployments/{model_segment}" + d.Path
		}
		d.Path += "?api-version=" + a.APIVersion
	}
	return sdk.Configured{BaseURL: base + path, Dialects: ds}
}

// Authorize fetches an Entra token for a client that proves itself by a secret
// (https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow). A ready-made access_token is
// taken as it is.
func (p *provider) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	t, err := p.token(ctx, r)
	if err != nil {
		return sdk.Authorization{}, fmt.Errorf("provider %s: %w", r.Provider, err)
	}
	return sdk.Authorization{Headers: []sdk.Header{{Name: "Authorization", Value: t.Bearer()}}, Lifetime: t.Lifetime}, nil
}

func (p *provider) token(ctx context.Context, r sdk.AuthRequest) (oauth.Token, error) {
	c := r.Credential
	if made := c["access_token"]; made != "" {
		return oauth.Token{Access: made, Lifetime: oauth.UnsaidLife}, nil
	}
	if c["tenant_id"] == "" || c["client_id"] == "" || c["client_secret"] == "" {
		return oauth.Token{}, errors.New("credential: want api_key, access_token, or tenant_id, client_id and client_secret")
	}
	p.mu.RLock()
	a := p.azure[r.Provider]
	p.mu.RUnlock()
	authority := strings.TrimRight(cmp.Or(a.Authority, "https://login.microsoftonline.com"), "/")
	return oauth.ClientCredentials(ctx, oauth.Client{
		ID: c["client_id"], Secret: c["client_secret"],
		TokenURL: authority + "/" + url.PathEscape(c["tenant_id"]) + "/oauth2/v2.0/token",
		Scopes:   []string{cmp.Or(a.Scope, "https://cognitiveservices.azure.com/.default")},
	})
}
