package anthropic

import (
	"strconv"
	"strings"

	"github.com/penstock-gateway/penstock/sdk"
)

// capabilities are Anthropic's models with their published limits
// (https://platform.claude.com/docs/en/about-claude/models/overview); of two patterns that match, the first counts. A
// model that no pattern knows is taken to be able to do everything.
func capabilities() []sdk.Capabilities {
	basic := []string{"tools", "parallel_tools", "images", "documents", "prefill"}
	thinking := []string{"tools", "parallel_tools", "images", "documents", "thinking", "prefill"}
	schema := []string{"tools", "parallel_tools", "images", "documents", "thinking", "prefill", "json_schema"}
	// From 4.6 on prefill is refused (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
	latest := []string{"tools", "parallel_tools", "images", "documents", "thinking", "json_schema"}
	return []sdk.Capabilities{
		{Match: "claude-3-haiku*", Can: []string{"tools", "parallel_tools", "images", "prefill"}, Context: 200_000, MaxOutput: 4_096},
		{Match: "claude-3-5-*", Can: basic, Context: 200_000, MaxOutput: 8_192},
		{Match: "claude-3-7-*", Can: thinking, Context: 200_000, MaxOutput: 64_000},
		{Match: "claude-opus-4-[01]*", Can: thinking, Context: 200_000, MaxOutput: 32_000},
		{Match: "claude-opus-4-20250514", Can: thinking, Context: 200_000, MaxOutput: 32_000},
		{Match: "claude-opus-4@*", Can: thinking, Context: 200_000, MaxOutput: 32_000}, // as Vertex AI writes it
		{Match: "claude-sonnet-4@*", Can: thinking, Context: 200_000, MaxOutput: 64_000},
		{Match: "claude-sonnet-4-0", Can: thinking, Context: 200_000, MaxOutput: 64_000},
		{Match: "claude-sonnet-4-20250514", Can: thinking, Context: 200_000, MaxOutput: 64_000},
		{Match: "claude-*-4-5*", Can: schema, Context: 200_000, MaxOutput: 64_000},
		{Match: "claude-*-4-[678]*", Can: latest, Context: 1_000_000, MaxOutput: 128_000},
		{Match: "claude-*-5*", Can: latest, Context: 1_000_000, MaxOutput: 128_000},
	}
}

// version is a model's version, such as 4.5. The habits of models go by it: a list of names would have to grow with
// each model.
type version struct{ major, minor int }

// newest stands for the names of Claude models without a version.
var newest = version{1 << 16, 0}

// versionOf reads the version in a name: the first number of one or two digits, and the second where it follows at once.
// The numbers come after the family (claude-sonnet-4-5-20250929) or before it (claude-3-7-sonnet-20250219); a number of
// more digits is a date. A name that is no Claude's has version 0: services that speak as Anthropic does follow the
// older form.
func versionOf(model string) version {
	_, name, ok := strings.Cut(model, "claude")
	if !ok {
		return version{}
	}
	var v version
	found := false
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '-' || c == '.' || c == '@' || c == '_' }) {
		n, err := strconv.Atoi(part)
		switch {
		case err == nil && len(part) <= 2 && found:
			v.minor = n
			return v
		case err == nil && len(part) <= 2:
			v.major, found = n, true
		case found:
			return v
		}
	}
	if !found {
		return newest
	}
	return v
}

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}
