package main

import (
	"context"
	"time"

	"github.com/penstock-gateway/penstock/core/ledger"
)

// ledgerClosing bounds how long the end waits for a store that does not take the last rows. They are in the journal.
const ledgerClosing = 10 * time.Second

// openLedger opens the ledger on the store that is open, and settles what an earlier process left.
func (p *process) openLedger(ctx context.Context) error {
	cfg, err := p.loader.Read()
	if err != nil {
		return p.refused(err)
	}
	l, _, err := ledger.Open(ctx, ledger.Options{Dir: p.state, Store: p.store, Power: cfg.Durability == "power", Log: p.log})
	if err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	p.gateway.Ledger = l
	return nil
}

// closeLedger writes the rows of the last requests.
func (p *process) closeLedger() {
	ctx, cancel := context.WithTimeout(context.Background(), ledgerClosing)
	defer cancel()
	if err := p.gateway.Ledger.Close(ctx); err != nil {
		p.log.Warn("ending", "error", err)
	}
}
