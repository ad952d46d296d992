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

// presets are the services that speak chat completions, by name. Sources are the services' own pages; "recorded" means
// that recorded traffic showed the address.
func presets() map[string]sdk.Preset {
	chat := []string{"openai-chat"}
	embeds := []string{"openai-chat", "openai-embeddings"}
	open := &sdk.Auth{Kind: "none"} // programs on the operator's own machine
	return map[string]sdk.Preset{
		// The resource's name is part of the address: it is configured, or base_url is given.
		"azure": {
			BaseURL: azureHost + "/openai/v1", Auth: azureAuth(),
			Source: "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
		},
		"cerebras": {
			BaseURL: "https://api.cerebras.ai/v1", Dialects: chat,
			// Members that are refused with 400; of those, this one changes no answer.
			Drop:   []string{"/service_tier"},
			Source: "https://inference-docs.cerebras.ai/resources/openai (recorded)",
		},
		"deepinfra":   {BaseURL: "https://api.deepinfra.com/v1/openai", Dialects: embeds, Source: "https://deepinfra.com/docs/openai_api"},
		"deepseek":    {BaseURL: "https://api.deepseek.com", Dialects: []string{chatDialect, responsesDialect}, Source: "https://api-docs.deepseek.com (recorded)"},
		"fireworks":   {BaseURL: "https://api.fireworks.ai/inference/v1", Dialects: embeds, Source: "https://docs.fireworks.ai/tools-sdks/openai-compatibility"},
		"github":      {BaseURL: "https://models.github.ai/inference", Dialects: embeds, Source: "https://docs.github.com/en/rest/models/inference"},
		"groq":        {BaseURL: "https://api.groq.com/openai/v1", Dialects: []string{chatDialect, responsesDialect}, Source: "https://console.groq.com/docs/openai (recorded)"},
		"huggingface": {BaseURL: "https://router.huggingface.co/v1", Dialects: chat, Source: "https://huggingface.co/docs/inference-providers (recorded)"},
		"lmstudio":    {BaseURL: "http://127.0.0.1:1234/v1", Auth: open, Source: "https://lmstudio.ai/docs/developer/openai-compat"},
		"mistral": {
			BaseURL: "https://api.mistral.ai/v1", Dialects: embeds,
			// Members that it does not know are refused with 422 extra_forbidden; of those, these change no answer.
			Drop:   []string{"/user", "/service_tier", "/store", "/safety_identifier", "/prompt_cache_key", "/prompt_cache_retention", "/verbosity"},
			Source: "https://docs.mistral.ai/api (recorded)",
		},
		"moonshot":   {BaseURL: "https://api.moonshot.ai/v1", Dialects: chat, Source: "https://platform.moonshot.ai/docs"},
		"nvidia":     {BaseURL: "https://integrate.api.nvidia.com/v1", Dialects: embeds, Source: "https://docs.api.nvidia.com/nim/reference/llm-apis"},
		"ollama":     {BaseURL: "http://127.0.0.1:11434/v1", Auth: open, Dialects: embeds, Source: "https://docs.ollama.com/openai"},
		"openrouter": {BaseURL: "https://openrouter.ai/api/v1", Source: "https://openrouter.ai/docs/api-reference/overview (recorded)"},
		"perplexity": {BaseURL: "https://api.perplexity.ai", Dialects: chat, Source: "https://docs.perplexity.ai/guides/chat-completions-guide (recorded)"},
		"sambanova":  {BaseURL: "https://api.sambanova.ai/v1", Dialects: embeds, Source: "https://docs.sambanova.ai/docs/en/features/openai-compatibility"},
		"together":   {BaseURL: "https://api.together.xyz/v1", Dialects: embeds, Source: "https://docs.together.ai/docs/openai-api-compatibility"},
		"vllm":       {BaseURL: "http://127.0.0.1:8000/v1", Auth: open, Source: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html"},
		"xai":        {BaseURL: "https://api.x.ai/v1", Dialects: []string{chatDialect, responsesDialect}, Source: "https://docs.x.ai/docs/api-reference (recorded)"},
		"zai":        {BaseURL: "https://api.z.ai/api/paas/v4", Dialects: chat, Source: "https://docs.z.ai/guides/develop/http/introduction (recorded)"},
	}
}

// habits gives what a preset's service does otherwise than OpenAI.
//
// Mistral: max_tokens, since max_completion_tokens is refused with 422
// (https://github.com/editor-code-assistant/eca/issues/231), random_seed
// (https://docs.mistral.ai/api), call ids of nine letters and digits, and usage in each stream unasked. DeepSeek: content as a string, and reasoning of
// tool turns sent back (https://api-docs.deepseek.com/guides/thinking_mode), which others do that switch thinking as it does. Groq: no speakers' names
// (https://console.groq.com/docs/openai), and max_completion_tokens, as Cerebras
// (https://inference-docs.cerebras.ai/api-reference/chat-completions). OpenRouter: cache_control as Anthropic has it
// (https://openrouter.ai/docs/features/prompt-caching), and top_k. top_k of vLLM and the hosts built on such servers:
// https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html.
//
// Where nothing is known of the output limit, the older max_tokens is sent: compatible services took it first.
func habits(preset string) (service, bool) {
	s := service{compatible: true, limit: "max_tokens"}
	switch preset {
	case "azure":
		return service{}, true
	case "mistral":
		s.seed, s.shortIDs, s.strict = "random_seed", true, true
	case "deepseek":
		s.flat, s.echo, s.toggle = true, true, true
	case "moonshot", "zai":
		s.echo, s.toggle = true, true
	case "groq":
		s.limit, s.unnamed = "", true
	case "cerebras":
		s.limit = ""
	case "openrouter":
		s.cache, s.topK, s.films = true, true, true
	case "vllm":
		s.topK, s.films = true, true
	case "lmstudio", "together", "fireworks", "deepinfra":
		s.topK = true
	case "github", "huggingface", "nvidia", "ollama", "perplexity", "sambanova", "xai":
	default:
		return service{}, false
	}
	return s, true
}

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
func azureAuth() *sdk.Auth {
	return &sdk.Auth{Kind: "token", Header: "api-key", Format: "{api_key}",
		Members: [][]string{{"access_token"}, {"tenant_id", "client_id", "client_secret"}}}
}

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
