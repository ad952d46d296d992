// Package wirepb is the generated code of provider.proto, the control service of a plugin. It leaves all meaning to
// package wire and to those who use it.
//
//go:generate protoc -I.. --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative ../provider.proto
package wirepb
