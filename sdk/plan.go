package sdk

// Plan is what Encode fills in: the request that the gateway is to send. Base URL and authentication are the gateway's;
// Path may hold the slot {model}.
type Plan struct {
	Method  string // "" is POST
	Path    string // appended to the base URL's path; "" is the manifest's for the dialect
	Headers []Header
	Body    Writer
	Dropped []Note   // members that were left out, named to the client in x-penstock-dropped
	Names   []Rename // tool names that the provider would not take; the gateway gives the client its own back
}

// Rename says that a tool goes by another name upstream.
type Rename struct{ Client, Upstream string }

// Header is a header field of a plan or a manifest.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Note says that a member was dropped or approximated, and why. A member that changes the meaning of the request is
// Strict: where the operator wants strict translation, it excludes the deployment.
type Note struct {
	Path   string
	Why    string
	Strict bool
}

// Drop notes a member that was left out without changing what is asked.
func (p *Plan) Drop(path, why string) { p.Dropped = append(p.Dropped, Note{Path: path, Why: why}) }

// Lose notes a member that was left out and that changes what is asked.
func (p *Plan) Lose(path, why string) {
	p.Dropped = append(p.Dropped, Note{Path: path, Why: why, Strict: true})
}
