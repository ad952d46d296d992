package relay

// forget lets the client's request go when the answer is the client's and nobody will be asked again, neither to go on with it
// nor beside it: a large request is not to be kept for as long as its answer takes.
func (a *active) forget() {
	if a.joined != nil || a.race != nil {
		return
	}
	a.out.Segments, a.signing.Segments = nil, nil
	clear(a.segs[:cap(a.segs)])
	clear(a.edits[:cap(a.edits)])
	for i := range a.plans {
		p := &a.plans[i]
		p.without = nil
		if p.encoded != nil {
			p.encoded.Segments = nil
		}
	}
	a.request = nil
	a.Doc.Reset()
	a.Exchange.ForgetBody()
}
