package generation

import (
	"context"

	"github.com/penstock-gateway/penstock/core/config"
)

// Build compiles a configuration for a look at it: the generation is never in force, and has the number 0. The caller
// releases it. The error is config.Diagnostics where the configuration is at fault.
func (b *Builder) Build(ctx context.Context, cfg *config.Config) (*Generation, error) {
	g, err := b.build(ctx, cfg)
	if err != nil {
		return nil, err
	}
	g.ended = g.letGo
	g.holds.Store(1)
	return g, nil
}

// Hold takes part in a generation that its caller has hold of already; a Release follows. It gives the generation.
func (g *Generation) Hold() *Generation {
	g.hold()
	return g
}
