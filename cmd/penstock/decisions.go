package main

import (
	"context"
	"sync"

	"github.com/penstock-gateway/penstock/core/replay"
)

// recordDecisions keeps what routers decide, until the function that it gives is called; that waits for what is under way.
func (p *process) recordDecisions() (stop func()) {
	p.gateway.Decisions = replay.NewRecorder(replay.Options{Store: p.store, Log: p.log})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.gateway.Decisions.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
