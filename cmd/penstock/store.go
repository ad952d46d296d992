package main

import (
	"context"
	"time"

	"github.com/penstock-gateway/penstock/core/health"
	"github.com/penstock-gateway/penstock/core/route"
	"github.com/penstock-gateway/penstock/core/store"
)

// openStore opens the store that the configuration names, and reads from it what requests need.
func (p *process) openStore(ctx context.Context) error {
	cfg, err := p.loader.Read()
	if err != nil {
		return p.refused(err)
	}
	p.store, err = store.Open(ctx, store.Options{URL: cfg.StoreURL, Dir: p.state, Durable: cfg.Durability == "power", Log: p.log})
	if err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	p.disabled, err = route.OpenDisabled(ctx, p.store, p.log)
	if err != nil {
		p.store.Close()
		return &exitError{exitFailure, err.Error()}
	}
	p.builder.Disabled = p.disabled
	p.builder.Keys = p.store
	p.builder.Health = health.NewRegistry(p.log)
	if err := p.builder.Health.Restore(ctx, p.store, time.Now()); err != nil {
		p.store.Close()
		return &exitError{exitFailure, err.Error()}
	}
	return nil
}
