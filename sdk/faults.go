package sdk

import (
	"errors"
	"fmt"
)

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
