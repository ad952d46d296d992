// Package core is the gateway. It holds no code of its own: this page is the
// plan of its rooms, and layers_test.go keeps the order in which they may use
// one another.
//
// Core knows client dialects, streams, routes and money. It knows no provider
// and no policy; those are built on it, and cmd/penstock is the one place where
// they meet. From the ground up:
//
//	jsonspan    the spans of a JSON text's members; splices; canonical form
//	frame       the frames of upstream bodies: SSE, NDJSON, JSON arrays, event streams
//	coding      content codings of bodies, decoded up to a limit
//	bytequeue   the byte-bounded queue between an upstream and a client
//	timing      monotonic marks, and the Server-Timing that is made of them
//	flight      single flight with a bounded wait
//	faultpoint  the stages of a request at which tests make the program fail
//	config      YAML with positions to typed configuration; no behaviour
//	h1          HTTP/1.1 on both sides
//	dialect     what a client dialect must do; each is a folder below it
//	store       rows that must survive, and counters
//	pluginhost  the life of plugin processes, and the call to one
//	policy      the Starlark runtime: compile, freeze, bound, run
//	catalog     models, deployments, prices, capabilities
//	ledger      money: reserve, settle exactly once, survive a crash
//	telemetry   metrics, traces, the request log
//	admit       key, account, limits, reservation
//	cache       exact answers, given again
//	guard       guardrails on what goes in and what comes out
//	reach       the ways to services: pools, the nearest address, connections kept ready, probes
//	route       branches to candidates and skip records; health and breakers
//	relay       attempts up to the commit point, then the relay of bytes
//	generation  configuration to a compiled snapshot; swap, hold, drain
//	gateway     the request path, in order
//	admin       the admin API, the console and the live tail
//
// Between core and its plugins stands package sdk, which imports of core only
// jsonspan. What a request needs is passed down as arguments, or as interfaces
// that the lower package declares.
//
// # Lock order
//
// Where two locks are held at once they are taken in the order listed here,
// first the upper. A lock is named by package, type and field, with the reason
// for its place. No code takes a second lock while it holds one, so the list is
// empty; the change that first does so adds both lines.
package core
