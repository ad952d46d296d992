package wire

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// PluginName is what go-plugin dispenses, and EnvFD the variable that names the descriptor of the data plane.
const (
	PluginName = "provider"
	EnvFD      = "PENSTOCK_PLUGIN_FD"
)

// Handshake is the handshake of go-plugin for a version of the protocol. The cookie keeps a plugin from being run by hand
// unawares; it is no secret.
func Handshake(version uint) plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		ProtocolVersion:  version,
		MagicCookieKey:   "PENSTOCK_PLUGIN",
		MagicCookieValue: "4a1f7c52e0b94d0d9d3bb4a4a2c2b1de",
	}
}

// Control is the control service for go-plugin. On the plugin's side it serves Provider; on the gateway's, what is
// dispensed is a [wirepb.ProviderClient].
type Control struct {
	plugin.NetRPCUnsupportedPlugin
	Provider wirepb.ProviderServer
}

// GRPCServer registers the service.
func (c *Control) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	wirepb.RegisterProviderServer(s, c.Provider)
	return nil
}

// GRPCClient gives the service's client.
func (c *Control) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return wirepb.NewProviderClient(conn), nil
}
