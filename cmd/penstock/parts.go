package main

import (
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/penstock-gateway/penstock/core/admin"
	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/dialect/anthropic"
	"github.com/penstock-gateway/penstock/core/dialect/embeddings"
	"github.com/penstock-gateway/penstock/core/dialect/gemini"
	"github.com/penstock-gateway/penstock/core/dialect/openaichat"
	"github.com/penstock-gateway/penstock/core/dialect/openairesponses"
	"github.com/penstock-gateway/penstock/core/gateway"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/keyring"
	"github.com/penstock-gateway/penstock/core/pluginhost"
	anthropicplugin "github.com/penstock-gateway/penstock/plugins/anthropic"
	"github.com/penstock-gateway/penstock/plugins/bedrock"
	"github.com/penstock-gateway/penstock/plugins/cohere"
	"github.com/penstock-gateway/penstock/plugins/demo"
	geminiplugin "github.com/penstock-gateway/penstock/plugins/gemini"
	"github.com/penstock-gateway/penstock/plugins/ollama"
	openaiplugin "github.com/penstock-gateway/penstock/plugins/openai"
	"github.com/penstock-gateway/penstock/sdk"
)

// bundled makes the provider of a plugin that we ship; nil for another name. It runs in the plugin's process alone.
func bundled(name string) func() sdk.Provider {
	switch name {
	case "openai":
		return openaiplugin.New
	case "anthropic":
		return anthropicplugin.New
	case "gemini":
		return geminiplugin.New
	case "bedrock":
		return bedrock.New
	case "cohere":
		return cohere.New
	case "ollama":
		return ollama.New
	case "demo":
		return demo.New
	}
	return nil
}

// bundledNames lists the plugins that we ship.
var bundledNames = [...]string{"openai", "anthropic", "gemini", "bedrock", "cohere", "ollama", "demo"}

// dialects are the client dialects and their routes.
func dialects() gateway.Dialects {
	return gateway.NewDialects(gateway.Speakers{Chat: openaichat.Dialect{}, Responses: openairesponses.Dialect{}, Embeddings: embeddings.Dialect{},
		Anthropic: anthropic.Dialect{}, Gemini: gemini.Dialect{}, GeminiEmbeddings: gemini.Embeddings{}, GeminiBatch: gemini.Embeddings{Batch: true}})
}

// newHost makes the host of plugin processes; those that we ship are this executable again.
func newHost(log *slog.Logger) *pluginhost.Host {
	return pluginhost.New(pluginhost.Options{Log: log, Bundled: func(name string) (string, []string, bool) {
		if bundled(name) == nil {
			return "", nil, false
		}
		self, err := executable()
		return self, []string{"plugin", "serve", name}, err == nil
	}})
}

// executable is the path of the running program. On Linux it holds although the file has been replaced since.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// servers makes the two servers.
func (p *process) servers(cfg *config.Config, l listeners) error {
	p.data = &h1.Server{Handler: p.gateway.Serve, Reject: p.gateway.Reject, Log: p.log,
		HeadBytes: int(cfg.Limits.Head), HeadTimeout: cfg.Limits.HeadTimeout, Stall: cfg.Timeout.Stalled}
	if p.tls != nil {
		p.ready.API = strings.Replace(p.ready.API, "http:", "https:", 1)
	}
	host, _, err := net.SplitHostPort(l.admin.Addr().String())
	if err != nil {
		return err
	}
	a := &admin.Server{Generations: p.manager, Plugins: p.host, Explainer: p.gateway, Ledger: p.gateway.Ledger, Rows: p.store, Disabled: p.disabled, Decisions: p.gateway.Decisions, Health: p.builder.Health, Addresses: p.builder, Audit: p.store, Keyring: &keyring.Keyring{Store: p.store}, Token: p.token, Hosts: []string{host}, Log: p.log}
	p.admin = a.NewHTTP()
	return nil
}

// serveData serves requests until the server is drained.
func (p *process) serveData(l net.Listener) error {
	if p.tls != nil {
		return p.data.ServeTLS(l, p.tls)
	}
	return p.data.Serve(l)
}
