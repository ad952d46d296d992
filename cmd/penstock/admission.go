package main

import (
	"time"

	"github.com/penstock-gateway/penstock/core/admit"
	"github.com/penstock-gateway/penstock/core/limits"
)

// openAdmission makes what lets requests in, with the counters that the configuration names.
func (p *process) openAdmission() error {
	cfg, err := p.loader.Read()
	if err != nil {
		return p.refused(err)
	}
	if p.counters, err = limits.Open(cfg.CountersURL, time.Now(), p.log); err != nil {
		return &exitError{exitFailure, err.Error()}
	}
	p.gateway.Admission = admit.New(admit.Options{Counters: p.counters, Store: p.store, Flush: p.gateway.Ledger.Flush, Log: p.log})
	return nil
}

func (p *process) closeAdmission() {
	p.gateway.Admission.Close()
	p.counters.Close()
}
