package bedrock_test

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/plugins/bedrock"
)

var suite = providertest.Suite{
	New:     bedrock.New,
	Clients: map[string]dialect.Dialect{"openai-chat": openaichat.Dialect{}, "anthropic": anthropic.Dialect{}},
	Split:   providertest.Split,
}

func TestEncode(t *testing.T) { suite.Encode(t) }

func TestDecode(t *testing.T) { suite.Decode(t) }

func TestManifestForm(t *testing.T) { suite.Manifest(t) }

func FuzzEncode(f *testing.F) {
	suite.FuzzEncode(f, "anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-opus-4-7", "us.amazon.nova-2-lite-v1:0", "meta.llama3-3-70b-instruct-v1:0")
}
