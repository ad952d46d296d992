//go:build !unix

package demo

// processFaults are none: they need signals and sockets of a Unix system.
func processFaults() []Fault { return nil }
