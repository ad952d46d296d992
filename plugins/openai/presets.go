package openai

import "github.com/penstock-gateway/penstock/sdk"

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
		"cerebras":    {BaseURL: "https://api.cerebras.ai/v1", Dialects: chat, Source: "https://inference-docs.cerebras.ai/resources/openai (recorded)"},
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
			Drop:   []string{"/user", "/service_tier", "/store"},
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
// tool turns sent back (https://api-docs.deepseek.com/guides/thinking_mode). Groq: no speakers' names
// (https://console.groq.com/docs/openai). OpenRouter: cache_control as Anthropic has it
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
		s.flat, s.echo = true, true
	case "moonshot", "zai":
		s.echo = true
	case "groq":
		s.limit, s.unnamed = "", true
	case "cerebras":
		s.limit = ""
	case "openrouter":
		s.cache, s.topK = true, true
	case "vllm", "lmstudio", "together", "fireworks", "deepinfra":
		s.topK = true
	case "github", "huggingface", "nvidia", "ollama", "perplexity", "sambanova", "xai":
	default:
		return service{}, false
	}
	return s, true
}
