package gemini_test

import (
	"testing"

	"github.com/penstock-gateway/penstock/core/dialect"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/providertest"
	"github.com/penstock-gateway/penstock/plugins/gemini"
)

var suite = providertest.Suite{
	New:     gemini.New,
	Clients: map[string]dialect.Dialect{"openai-chat": openaichat.Dialect{}, "anthropic": anthropic.Dialect{}},
	Split:   providertest.Split,
}

func TestEncode(t *testing.T) { suite.Encode(t) }

func TestDecode(t *testing.T) { suite.Decode(t) }

func TestManifestForm(t *testing.T) { suite.Manifest(t) }

func FuzzEncode(f *testing.F) {
	suite.FuzzEncode(f, "gemini-2.0-flash", "gemini-2.5-pro", "gemini-3-flash-preview")
}
