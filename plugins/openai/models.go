package openai

import "github.com/penstock-gateway/penstock/sdk"

// capabilities are OpenAI's models; of two patterns that match, the first counts, so the narrow ones come first. The
// figures are of the models' pages (https://platform.openai.com/docs/models), looked up in November 2026. A model that
// no pattern knows is taken to be able to do everything.
func capabilities() []sdk.Capabilities {
	chat := []string{"tools", "parallel_tools", "images", "documents", "json_schema", "logprobs", "n"}
	thinking := []string{"tools", "parallel_tools", "images", "documents", "thinking", "json_schema", "n"}
	return []sdk.Capabilities{
		{Match: "text-embedding-*", Can: []string{"embeddings"}, Context: 8192},
		{Match: "gpt-5*-chat*", Can: chat, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-5.4-mini*", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-5.4-nano*", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-5.4*", Can: thinking, Context: 1_050_000, MaxOutput: 128_000},
		{Match: "gpt-5", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-5-*", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-5.[123]*", Can: thinking, Context: 400_000, MaxOutput: 128_000},
		{Match: "gpt-4.1*", Can: chat, Context: 1_047_576, MaxOutput: 32_768},
		{Match: "gpt-4o*-audio-*", Can: []string{"tools", "parallel_tools", "audio", "n"}, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-audio*", Can: []string{"tools", "parallel_tools", "audio", "n"}, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-4o*-search-preview*", Can: []string{"json_schema"}, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-4o*", Can: chat, Context: 128_000, MaxOutput: 16_384},
		{Match: "gpt-4-turbo*", Can: []string{"tools", "parallel_tools", "images", "logprobs", "n"}, Context: 128_000, MaxOutput: 4_096},
		{Match: "gpt-4*", Can: []string{"tools", "parallel_tools", "logprobs", "n"}, Context: 8_192, MaxOutput: 8_192},
		{Match: "gpt-3.5-turbo*", Can: []string{"tools", "parallel_tools", "logprobs", "n"}, Context: 16_385, MaxOutput: 4_096},
		{Match: "o3-mini*", Can: []string{"tools", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
		{Match: "o1*", Can: []string{"tools", "images", "documents", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
		{Match: "o3*", Can: []string{"tools", "images", "documents", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
		{Match: "o4-mini*", Can: []string{"tools", "images", "documents", "thinking", "json_schema", "n"}, Context: 200_000, MaxOutput: 100_000},
	}
}
