package sdk

import (
	"bytes"
	"errors"
	"fmt"
)

// This file says how each type of the model crosses: its members in order.

func (c *coder) request(r *Request) {
	c.string(&r.Dialect)
	c.string(&r.Model)
	c.string(&r.Provider)
	c.string(&r.Native)
	c.bool(&r.Stream)
	c.bool(&r.WantUsage)
	signed(c, &r.DefaultMax)
	list(c, &r.Messages, (*coder).message)
	list(c, &r.Tools, (*coder).tool)
	c.choice(&r.Choice)
	signed(c, &r.MaxOutput)
	for _, v := range []*Value{&r.Temperature, &r.TopP, &r.TopK, &r.FrequencyPenalty, &r.PresencePenalty, &r.Seed} {
		c.value(v)
	}
	signed(c, &r.N)
	list(c, &r.Stop, (*coder).text)
	c.value(&r.Logprobs)
	c.value(&r.TopLogprobs)
	c.value(&r.LogitBias)
	c.format(&r.Format)
	c.reasoning(&r.Reasoning)
	c.text(&r.ServiceTier)
	c.text(&r.User)
	c.value(&r.Metadata)
	c.text(&r.CacheKey)
	c.value(&r.Cache)
	list(c, &r.Inputs, (*coder).text)
	signed(c, &r.Dimensions)
	c.string(&r.Encoding)
	list(c, &r.Unknown, (*coder).member)
}

func (c *coder) member(m *Member) {
	c.string(&m.Path)
	c.value(&m.Value)
}

func (c *coder) message(m *Message) {
	unsigned(c, &m.Role)
	c.text(&m.Name)
	list(c, &m.Parts, (*coder).part)
	c.string(&m.Path)
}

func (c *coder) part(p *Part) {
	unsigned(c, &p.Kind)
	c.text(&p.Text)
	c.text(&p.Signature)
	c.nested(func() {
		optional(c, &p.Media, (*coder).media)
		optional(c, &p.Call, (*coder).call)
		optional(c, &p.Result, (*coder).result)
	})
	c.value(&p.Cache)
	c.string(&p.Type)
	c.value(&p.Value)
	c.string(&p.Path)
}

func (c *coder) media(m *Media) {
	c.string(&m.MIME)
	c.text(&m.Data)
	c.text(&m.URL)
	c.text(&m.FileID)
	c.text(&m.Body)
	list(c, &m.Parts, (*coder).part)
	c.text(&m.Name)
	c.text(&m.Title)
	c.text(&m.Context)
	c.string(&m.Detail)
	c.value(&m.Citations)
}

func (c *coder) call(l *Call) {
	c.text(&l.ID)
	c.text(&l.Name)
	c.value(&l.Arguments)
	c.text(&l.Input)
	c.bool(&l.Custom)
}

func (c *coder) result(r *Result) {
	c.text(&r.ID)
	c.text(&r.Name)
	list(c, &r.Parts, (*coder).part)
	c.bool(&r.Error)
}

func (c *coder) tool(t *Tool) {
	unsigned(c, &t.Kind)
	c.text(&t.Name)
	c.text(&t.Description)
	c.schema(&t.Parameters, string(t.Strict.raw) == "true" || takenApart(t.Parameters.raw))
	c.value(&t.Strict)
	c.value(&t.Cache)
	c.string(&t.Type)
	c.schema(&t.Raw, t.Kind != FunctionTool)
	c.string(&t.Path)
}

// takenApart says whether a schema has words that not every provider takes as they stand.
func takenApart(schema []byte) bool {
	for _, keyword := range [...]string{`"$ref"`, `"const"`, `"allOf"`} {
		if bytes.Contains(schema, []byte(keyword)) {
			return true
		}
	}
	return false
}

func (c *coder) choice(t *ToolChoice) {
	unsigned(c, &t.Mode)
	list(c, &t.Names, (*coder).text)
	c.bool(&t.Required)
	c.value(&t.Parallel)
}

func (c *coder) format(f *Format) {
	unsigned(c, &f.Kind)
	c.text(&f.Name)
	c.text(&f.Description)
	c.schema(&f.Schema, true)
	c.value(&f.Strict)
}

func (c *coder) reasoning(r *Reasoning) {
	unsigned(c, &r.Mode)
	c.string(&r.Effort)
	signed(c, &r.Budget)
	c.value(&r.Include)
	c.string(&r.Summary)
	c.string(&r.Display)
}

func (c *coder) plan(p *Plan) {
	c.string(&p.Method)
	c.string(&p.Path)
	list(c, &p.Headers, (*coder).header)
	list(c, &p.Dropped, (*coder).note)
	list(c, &p.Names, (*coder).rename)
	if !c.reading {
		p.Body.cut()
	}
	c.bytes(&p.Body.lit)
	list(c, &p.Body.segs, (*coder).segment)
	p.Body.mark = len(p.Body.lit)
}

func (c *coder) header(h *Header) {
	c.string(&h.Name)
	c.string(&h.Value)
}

func (c *coder) note(n *Note) {
	c.string(&n.Path)
	c.string(&n.Why)
	c.bool(&n.Strict)
	c.bool(&n.Approximate)
}

func (c *coder) rename(r *Rename) {
	c.string(&r.Client)
	c.string(&r.Upstream)
}

func (c *coder) segment(s *Segment) {
	signed(c, &s.From)
	signed(c, &s.To)
	unsigned(c, &s.Handle)
	unsigned(c, &s.Form)
}

func (c *coder) info(i *AnswerInfo) {
	c.string(&i.Provider)
	c.string(&i.Native)
	c.string(&i.Model)
	c.bool(&i.Stream)
}

// The members of an event that are there, in the order in which they cross.
const (
	eventPlace uint16 = 1 << iota // Choice and Call
	eventID
	eventName
	eventText
	eventCustom
	eventType
	eventValue
	eventReason
	eventNative
	eventStop
	eventUsage
	eventFailure
	eventParts // of the usage that came later than the rest: older plugins do not know them
	eventTier  // of the usage, as late
	eventFree  // of the usage, as late
	eventAll   = 1<<iota - 1
)

// event crosses with a mask of its members: a delta has one or two of them.
func (c *coder) event(e *Event) {
	unsigned(c, &e.Kind)
	mask := e.mask()
	unsigned(c, &mask)
	if mask > eventAll {
		c.fail(fmt.Errorf("event with members %#x: want those of %#x", mask, uint16(eventAll)))
		return
	}
	on := func(bit uint16, do func()) {
		if mask&bit != 0 {
			do()
		}
	}
	on(eventPlace, func() { signed(c, &e.Choice); signed(c, &e.Call) })
	on(eventID, func() { c.text(&e.ID) })
	on(eventName, func() { c.text(&e.Name) })
	on(eventText, func() { c.text(&e.Text) })
	on(eventCustom, func() { c.bool(&e.Custom) })
	on(eventType, func() { c.string(&e.Type) })
	on(eventValue, func() { c.value(&e.Value) })
	on(eventReason, func() { unsigned(c, &e.Reason) })
	on(eventNative, func() { c.text(&e.Native) })
	on(eventStop, func() { c.text(&e.Stop) })
	on(eventUsage, func() { c.usage(&e.Usage) })
	on(eventFailure, func() { c.failure(&e.Failure) })
	on(eventParts, func() { c.usageParts(&e.Usage) })
	on(eventTier, func() { unsigned(c, &e.Usage.Tier) })
	on(eventFree, func() { c.bool(&e.Usage.Free) })
}

// mask says which members of the event are there.
func (e *Event) mask() (m uint16) {
	for i, there := range [...]bool{
		e.Choice != 0 || e.Call != 0, e.ID.Present(), e.Name.Present(), e.Text.Present(), e.Custom, e.Type != "",
		e.Value.Present(), e.Reason != 0, e.Native.Present(), e.Stop.Present(), e.Usage != Usage{}, e.Failure.there(),
		e.Usage.AudioInput|e.Usage.ImageInput|e.Usage.CacheWriteHour|e.Usage.AudioOutput|e.Usage.ImageOutput|e.Usage.Searches != 0,
		e.Usage.Tier != 0, e.Usage.Free,
	} {
		if there {
			m |= 1 << i
		}
	}
	return m
}

func (f *Failure) there() bool {
	return f.Kind != 0 || f.Status != 0 || f.Message != "" || f.Param != "" || f.Code != "" || f.Type != "" ||
		f.RetryAfter != 0 || f.Body != nil || f.Final
}

func (c *coder) usage(u *Usage) {
	signed(c, &u.Input)
	signed(c, &u.CacheRead)
	signed(c, &u.CacheWrite)
	signed(c, &u.Output)
	signed(c, &u.Reasoning)
	c.bool(&u.Known)
	c.bool(&u.Disputed)
}

func (c *coder) usageParts(u *Usage) {
	signed(c, &u.AudioInput)
	signed(c, &u.ImageInput)
	signed(c, &u.CacheWriteHour)
	signed(c, &u.AudioOutput)
	signed(c, &u.ImageOutput)
	signed(c, &u.Searches)
}

func (c *coder) failure(f *Failure) {
	unsigned(c, &f.Kind)
	signed(c, &f.Status)
	c.string(&f.Message)
	c.string(&f.Param)
	c.string(&f.Code)
	c.string(&f.Type)
	signed(c, &f.RetryAfter)
	c.bytes(&f.Body)
	c.bool(&f.Final)
}

// The kinds of errors that cross as what they are; any other crosses as its text.
const (
	faultText uint8 = iota
	faultInexpressible
	faultInvalid
	faultFailure
)

// appendFault appends the message of an error.
func appendFault(dst []byte, err error) []byte {
	c := coder{b: dst}
	var lacks *Inexpressible
	var bad *Invalid
	var failure *Failure
	switch {
	case errors.As(err, &lacks):
		c.b = append(c.b, faultInexpressible)
		c.string(&lacks.What)
		c.string(&lacks.Path)
	case errors.As(err, &bad):
		c.b = append(c.b, faultInvalid)
		c.string(&bad.Path)
		c.string(&bad.Message)
	case errors.As(err, &failure):
		c.b = append(c.b, faultFailure)
		c.failure(failure)
	default:
		text := err.Error()
		c.b = append(c.b, faultText)
		c.string(&text)
	}
	return c.b
}

// PluginError is what a plugin says has gone wrong in it, beyond the errors that the contract names.
type PluginError struct{ Text string }

// Error gives the plugin's text.
func (e *PluginError) Error() string { return "plugin: " + e.Text }

// ReadFault gives the error of a message: [*Inexpressible], [*Invalid], [*Failure], [*PluginError], or what is wrong with
// the message. It is the gateway's.
func ReadFault(message []byte) error {
	c := coder{b: message, reading: true}
	var kind uint8
	var err error
	switch unsigned(&c, &kind); kind {
	case faultText:
		e := new(PluginError)
		c.string(&e.Text)
		err = e
	case faultInexpressible:
		e := new(Inexpressible)
		c.string(&e.What)
		c.string(&e.Path)
		err = e
	case faultInvalid:
		e := new(Invalid)
		c.string(&e.Path)
		c.string(&e.Message)
		err = e
	case faultFailure:
		e := new(Failure)
		c.failure(e)
		e.Body = append([]byte(nil), e.Body...)
		if err = e; e.Kind == KindNone || e.Kind > Internal {
			c.fail(fmt.Errorf("failure of kind %d: want %d to %d", e.Kind, BadRequest, Internal))
		}
	default:
		c.fail(fmt.Errorf("kind %d: want 0 to %d", kind, faultFailure))
	}
	if bad := c.end("fault"); bad != nil {
		return bad
	}
	return err
}
