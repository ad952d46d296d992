package gateway

import (
	"errors"
	"strconv"

	"github.com/penstock-gateway/penstock/core/coding"
	"github.com/penstock-gateway/penstock/core/h1"
	"github.com/penstock-gateway/penstock/core/jsonspan"
	"github.com/penstock-gateway/penstock/sdk"
)

// body reads the request's body whole and undoes its content coding.
func (r *request) body() ([]byte, *sdk.Failure) {
	limit := r.gen.Config.Limits.Body
	head := r.ex.Head()
	body, err := r.ex.Body(limit)
	if err != nil {
		return nil, bodyFailure(err, limit)
	}
	if value := head.Get("content-encoding"); !coding.Identity(value) {
		decoded, err := coding.Decode(string(value), body, limit)
		switch {
		case errors.Is(err, coding.ErrTooLarge):
			return nil, bodyFailure(h1.ErrBodyTooLarge, limit)
		case errors.Is(err, coding.ErrUnknown):
			return nil, &sdk.Failure{Kind: sdk.BadEncoding, Message: "content-encoding " + quote(string(value)) + ": want gzip, deflate, br, zstd or none"}
		case err != nil:
			return nil, sdk.Fail(sdk.BadRequest, "the body is not what its content-encoding "+quote(string(value))+" says")
		}
		body = decoded
	}
	return body, nil
}

// bodyFailure tells the client what was wrong with how it sent its body.
func bodyFailure(err error, limit int64) *sdk.Failure {
	var bad *h1.RequestError
	switch {
	case errors.Is(err, h1.ErrBodyTooLarge):
		return &sdk.Failure{Kind: sdk.TooLarge, Message: "the body is larger than the limit of " + strconv.FormatInt(limit, 10) + " bytes", Final: true}
	case errors.As(err, &bad):
		return &sdk.Failure{Kind: sdk.BadRequest, Status: bad.Status, Message: bad.Msg}
	}
	return sdk.Fail(sdk.ClientGone, "the body did not come whole")
}

// badJSON names the place of what is wrong with a body.
func badJSON(err error) *sdk.Failure {
	f := sdk.Fail(sdk.BadRequest, "the body is not valid JSON: "+err.Error())
	var at *jsonspan.SyntaxError
	if errors.As(err, &at) {
		f.Param = at.Path
	}
	return f
}

// asFailure gives the failure in an error.
func asFailure(err error) *sdk.Failure {
	var f *sdk.Failure
	if errors.As(err, &f) {
		return f
	}
	return sdk.Fail(sdk.BadRequest, err.Error())
}

// quote puts outside text into a message, cut where it is long.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.QuoteToGraphic(s)
}
