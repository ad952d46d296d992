package relay

import (
	"errors"
	"io"
	"time"

	"github.com/penstock-gateway/penstock/core/fault"
	"github.com/penstock-gateway/penstock/sdk"
)

// maxErrorBody bounds what is read of an upstream's error.
const maxErrorBody = 64 << 10

// refused reads an answer whose status is no success.
func (a *active) refused() *sdk.Failure {
	status := a.rec.Status
	if status < 400 {
		return &sdk.Failure{Kind: sdk.UpstreamError, Message: "the provider answered " + fault.StatusText(status) + ", which is not followed"}
	}
	body, err := a.readAll(maxErrorBody)
	if err != nil && !errors.Is(err, errTooLong) {
		body = nil
	}
	f := a.up.Errors.Classify(status, body, a.call.Get, time.Now())
	a.keepBody(f, body)
	return f
}

// keepBody lets a client see the upstream's own error where it speaks the same dialect and the error is about its
// request: clients match on the wording.
func (a *active) keepBody(f *sdk.Failure, body []byte) {
	switch f.Kind {
	case sdk.UpstreamAuth, sdk.UpstreamMoney, sdk.UpstreamModel:
		f.Status = 0
		if f.Kind == sdk.UpstreamAuth {
			f.Message = "the provider refused the gateway's credential"
		}
		return
	}
	if a.plan.way.Pass && f.Status >= 400 && f.Status < 500 && len(body) > 0 && len(body) <= maxErrorBody && isObject(body) {
		f.Body = append([]byte(nil), body...)
	}
}

func isObject(body []byte) bool {
	for _, c := range body {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{'
	}
	return false
}

// errTooLong says that a body goes on past its bound.
var errTooLong = errors.New("body: over its bound")

// readAll reads what is left of the answer, at most limit bytes. The bytes are valid until the call is closed.
func (a *active) readAll(limit int64) ([]byte, error) {
	var all []byte
	for {
		p, err := a.call.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if all == nil && a.call.Length() == int64(len(p)) {
			all = p // the whole body in one piece: no copy
			if _, err := a.call.Next(); err != io.EOF {
				return nil, err
			}
			return all, nil
		}
		if int64(len(all)+len(p)) > limit {
			return append(all, p[:max(0, limit-int64(len(all)))]...), errTooLong
		}
		all = append(all, p...)
	}
}
