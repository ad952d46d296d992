package cohere_test

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/plugins/cohere"
)

var suite = providertest.Suite{
	New:     cohere.New,
	Clients: map[string]dialect.Dialect{"openai-chat": openaichat.Dialect{}, "anthropic": anthropic.Dialect{}},
	Split:   providertest.Split,
}

func TestEncode(t *testing.T) { suite.Encode(t) }

func TestDecode(t *testing.T) { suite.Decode(t) }

func TestManifestForm(t *testing.T) { suite.Manifest(t) }

func FuzzEncode(f *testing.F) {
	suite.FuzzEncode(f, "command-a-03-2025", "command-a-reasoning-08-2025")
}
