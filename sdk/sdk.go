// Package sdk is what a plugin author imports: the request and event model that stands between all dialects, the JSON
// writer and reader that work on bytes the gateway may be holding, and Serve, which makes a program of a [Provider].
//
// A plugin encodes and decodes; it opens no connection to a provider and, unless it signs requests, holds no key. The
// gateway owns connections, time limits, retries and money.
//
//	func main() { sdk.Serve(provider{}) }
package sdk
