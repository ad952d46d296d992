package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// Encoded is a provider's request as a plugin has written it, checked and resolved into bytes. Its segments are slices
// of the client's request where the plugin took texts over from there.
type Encoded = sdk.ResolvedPlan

// FrameIn is one frame of an upstream's answer.
type FrameIn = sdk.RawFrame

// buffers are the memory of one call: the message out, the message back, and what is held meanwhile.
type buffers struct {
	out, in []byte
	held    sdk.Held
}

// keptBuffer is what a call may leave to the next one.
const keptBuffer = 256 << 10

// idleBuffers serves all processes. It is a variable of the package because what it holds is nobody's and has no effect
// but speed.
var idleBuffers = sync.Pool{New: func() any { return new(buffers) }}

func (b *buffers) free() {
	b.held.Reset()
	if cap(b.out) > keptBuffer {
		b.out = nil
	}
	if cap(b.in) > keptBuffer {
		b.in = nil
	}
	idleBuffers.Put(b)
}

// Encode has the plugin translate a request. Errors are [*sdk.Inexpressible], [*sdk.Invalid], and [*sdk.Failure] for all
// that is the plugin's fault or the gateway's: kind PluginFailed for a process that is gone, late or breaks its contract,
// kind CannotTranslate for a request that is too large to cross. A call that loses its process is made once more, on the
// next one. Each of the two waits at most Options.Restart for a process and Options.Call for its answer.
func (p *Process) Encode(q *sdk.Request, dst *Encoded) error {
	return p.EncodeWithin(p.host.opt.Restart+p.host.opt.Call, q, dst)
}

// EncodeWithin is Encode for one who waits no longer than a limit in all.
func (p *Process) EncodeWithin(limit time.Duration, q *sdk.Request, dst *Encoded) error {
	p.begin()
	defer p.finish()
	b := idleBuffers.Get().(*buffers)
	defer b.free()
	var err error
	if b.out, err = b.held.AppendRequest(b.out[:0], q); err != nil {
		return sdk.Fail(sdk.CannotTranslate, err.Error())
	}
	op, err := p.encodeTwice(time.Now().Add(limit), b)
	if err != nil {
		return err
	}
	if op == wire.Fault {
		return p.fault(b.in)
	}
	if err := b.held.ReadPlan(b.in, dst); err != nil {
		return p.broken(err)
	}
	return nil
}

// encodeTwice asks, and asks the next process where this one ends meanwhile: encoding has no effects.
func (p *Process) encodeTwice(until time.Time, b *buffers) (op wire.Op, err error) {
	for range 2 {
		var in *instance
		if in, err = p.ready(min(p.host.opt.Restart, time.Until(until))); err != nil {
			return 0, err
		}
		op, b.in, err = in.call(wire.Frame{Op: wire.Encode, Body: b.out}, b.in, min(p.host.opt.Call, max(time.Until(until), time.Millisecond)))
		if !errors.Is(err, wire.ErrGone) {
			break
		}
		p.lost(in)
	}
	if err != nil {
		return 0, p.callError(err)
	}
	return op, nil
}

// ownSlots are the calls that may be in flight; the rest of what the plane allows is for signs of life.
const ownSlots = wire.MaxCalls - 16

// slot waits for a place among the calls in flight. In a burst of many streams a call waits its turn and does not fail.
func (in *instance) slot(limit time.Duration) bool {
	select {
	case in.slots <- struct{}{}:
		return true
	default:
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case in.slots <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

// call asks over the data plane, and counts what is not answered in time.
func (in *instance) call(f wire.Frame, reply []byte, limit time.Duration) (wire.Op, []byte, error) {
	if !in.slot(limit) {
		return 0, reply, wire.ErrBusy
	}
	op, reply, err := in.plane.Call(f, reply, limit)
	<-in.slots
	switch {
	case err == nil:
		if in.misses.Load() != 0 {
			in.misses.Store(0)
		}
	case errors.Is(err, wire.ErrTimeout):
		in.missed(limit)
	}
	return op, reply, err
}

// lost takes a process out of service whose end a call has seen, so that the call waits for the next one.
func (p *Process) lost(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == in && p.state == StateRunning {
		p.now = nil
		p.announce(StateRestarting)
	}
}

// callError is what the caller of a call without an answer gets.
func (p *Process) callError(err error) error {
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return sdk.Fail(sdk.CannotTranslate, "too large to translate")
	case errors.Is(err, wire.ErrTimeout):
		return p.failure("did not answer in time", "")
	case errors.Is(err, wire.ErrBusy):
		return p.failure("has too many calls in flight", "")
	}
	return p.failure("has ended during the call", err.Error())
}

// fault is the error that a plugin has answered with. What it says of its own troubles goes to the log, not to clients.
func (p *Process) fault(message []byte) error {
	err := sdk.ReadFault(message)
	var own *sdk.PluginError
	switch {
	case errors.As(err, &own):
		p.log.Warn("plugin reports an error", "error", own.Text)
		return p.failure("could not translate", "")
	case errors.As(err, new(*sdk.Inexpressible)), errors.As(err, new(*sdk.Invalid)), errors.As(err, new(*sdk.Failure)):
		return err
	}
	return p.broken(err)
}

// broken is the error of a message that breaks the contract.
func (p *Process) broken(err error) error {
	p.log.Warn("plugin breaks its contract", "error", err)
	return p.failure("broke its contract", "")
}

// Configure configures the instance of a provider. It is remembered, and repeated whenever the process is started again;
// a generation configures its instances before it is put to use.
func (p *Process) Configure(ctx context.Context, id string, config []byte) (sdk.Configured, error) {
	p.begin()
	defer p.finish()
	in, err := p.ready(p.host.opt.Start)
	if err != nil { // who configures may know the cause
		return sdk.Configured{}, fmt.Errorf("%w: %s", err, p.status().Error)
	}
	ctx, cancel := context.WithTimeout(ctx, p.host.opt.Start)
	defer cancel()
	reply, err := in.configure(ctx, id, config)
	if err != nil {
		return sdk.Configured{}, fmt.Errorf("plugin %q: provider %q: %v", p.prog.Name, id, err)
	}
	p.remember(id, config, reply)
	return reply, nil
}

// Configured gives what the instance of a provider has answered to its configuration, the last time: a plugin that was
// started again may say something else, such as another address.
func (p *Process) Configured(id string) sdk.Configured {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.instances[id].reply
}

func (in *instance) configure(ctx context.Context, id string, config []byte) (sdk.Configured, error) {
	r, err := in.control.Configure(ctx, &wirepb.ConfigureRequest{Provider: id, Config: config})
	if err != nil {
		return sdk.Configured{}, controlError(err)
	}
	return readConfigured(r, in.manifest)
}

// controlError takes a control call's error down to its text.
func controlError(err error) error {
	if s, ok := status.FromError(err); ok {
		return errors.New(s.Message())
	}
	return err
}

// Authorize asks for the headers that authorize a request, of a plugin whose manifest says signer or token. It may wait
// for the network; ctx bounds it. The error holds the plugin's own words, which are for the log: they may name accounts.
func (p *Process) Authorize(ctx context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	p.begin()
	defer p.finish()
	in, err := p.ready(p.host.opt.Restart)
	if err != nil {
		return sdk.Authorization{}, err
	}
	q := &wirepb.AuthorizeRequest{Provider: r.Provider, Credential: r.Credential, Method: r.Method, Url: r.URL, PayloadHash: r.PayloadHash}
	for _, h := range r.Headers {
		q.Headers = append(q.Headers, &wirepb.Header{Name: h.Name, Value: h.Value})
	}
	a, err := in.control.Authorize(ctx, q)
	if err != nil {
		return sdk.Authorization{}, fmt.Errorf("plugin %q: %v", p.prog.Name, controlError(err))
	}
	out := sdk.Authorization{Lifetime: time.Duration(a.GetLifetimeNs())}
	for _, h := range a.GetHeaders() {
		out.Headers = append(out.Headers, sdk.Header{Name: h.GetName(), Value: h.GetValue()})
	}
	return out, nil
}

// ReadError asks the plugin what an upstream's error body, which is JSON, means; ok is false where it has nothing to say.
func (p *Process) ReadError(code int, body []byte) (f *sdk.Failure, ok bool) {
	p.begin()
	defer p.finish()
	in, err := p.ready(p.host.opt.Restart)
	if err != nil || !in.readsErrors {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.host.opt.Call)
	defer cancel()
	r, err := in.control.ReadError(ctx, &wirepb.ReadErrorRequest{Status: int32(code), Body: body})
	if err != nil {
		if status.Code(err) != codes.Unimplemented {
			p.log.Warn("plugin could not read an error body", "error", controlError(err))
		}
		return nil, false
	}
	kind, known := sdk.ParseKind(r.GetKind())
	if !known {
		return nil, false
	}
	return &sdk.Failure{Kind: kind, Status: int(r.GetStatus()), Message: r.GetMessage(), Param: r.GetParam(), Code: r.GetCode(),
		Type: r.GetType(), RetryAfter: time.Duration(r.GetRetryAfterNs()), Final: r.GetFinal()}, true
}
