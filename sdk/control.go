package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstock-gateway/penstock/sdk/wire"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// control is the control service of a provider.
type control struct {
	wirepb.UnimplementedProviderServer
	provider Provider
	manifest Manifest
	stream   bool
	mu       sync.Mutex // holds back calls of a provider that may not block
}

// Manifest gives the manifest, and what else the provider does.
func (s *control) Manifest(context.Context, *wirepb.ManifestRequest) (*wirepb.ManifestReply, error) {
	text, err := json.Marshal(s.manifest)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "manifest: %v", err)
	}
	_, authorizes := s.provider.(Authorizer)
	_, reads := s.provider.(ErrorReader)
	return &wirepb.ManifestReply{Json: text, Stream: s.stream, Authorizes: authorizes, ReadsErrors: reads}, nil
}

// Configure configures an instance.
func (s *control) Configure(_ context.Context, q *wirepb.ConfigureRequest) (_ *wirepb.ConfigureReply, err error) {
	defer caught(&err)
	p, ok := s.provider.(Configurer)
	if !ok {
		return &wirepb.ConfigureReply{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := p.Configure(q.GetProvider(), q.GetConfig())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &wirepb.ConfigureReply{BaseUrl: c.BaseURL}, nil
}

// Health says that the process answers.
func (s *control) Health(context.Context, *wirepb.HealthRequest) (*wirepb.HealthReply, error) {
	return &wirepb.HealthReply{}, nil
}

// Authorize asks the provider for the headers of a request.
func (s *control) Authorize(ctx context.Context, q *wirepb.AuthorizeRequest) (_ *wirepb.AuthorizeReply, err error) {
	defer caught(&err)
	p, ok := s.provider.(Authorizer)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the provider does not authorize")
	}
	r := AuthRequest{Provider: q.GetProvider(), Credential: q.GetCredential(), Method: q.GetMethod(), URL: q.GetUrl(),
		PayloadHash: q.GetPayloadHash()}
	for _, h := range q.GetHeaders() {
		r.Headers = append(r.Headers, Header{Name: h.GetName(), Value: h.GetValue()})
	}
	a, err := p.Authorize(ctx, r)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	reply := &wirepb.AuthorizeReply{LifetimeNs: int64(a.Lifetime)}
	for _, h := range a.Headers {
		reply.Headers = append(reply.Headers, &wirepb.Header{Name: h.Name, Value: h.Value})
	}
	return reply, nil
}

// ReadError asks the provider what an error body means.
func (s *control) ReadError(_ context.Context, q *wirepb.ReadErrorRequest) (_ *wirepb.ReadErrorReply, err error) {
	defer caught(&err)
	p, ok := s.provider.(ErrorReader)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "the provider does not read errors")
	}
	var doc Doc
	if err := doc.Parse(q.GetBody()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "body: %v", err)
	}
	f := p.ReadError(int(q.GetStatus()), &doc)
	return &wirepb.ReadErrorReply{Kind: f.Kind.String(), Status: int32(f.Status), Message: f.Message, Param: f.Param,
		Code: f.Code, Type: f.Type, RetryAfterNs: int64(f.RetryAfter), Final: f.Final}, nil
}

// Calls carries the data plane where no descriptor could be passed.
func (s *control) Calls(calls wirepb.Provider_CallsServer) error {
	var sending sync.Mutex
	send := func(f *wire.Frame) error {
		sending.Lock()
		defer sending.Unlock()
		return calls.Send(&wirepb.Message{Op: uint32(f.Op), Flags: uint32(f.Flags), Call: f.Call, Stream: f.Stream, Body: f.Body})
	}
	pl := newPlane(s.provider, s.manifest.MayBlock, send)
	defer pl.running.Wait()
	for {
		m, err := calls.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if m.GetOp() > uint32(wire.Pong) || m.GetFlags() > uint32(wire.Opens) || len(m.GetBody()) > wire.MaxBody {
			return status.Errorf(codes.InvalidArgument, "message with op %d, flags %d", m.GetOp(), m.GetFlags())
		}
		f := wire.Frame{Op: wire.Op(m.GetOp()), Flags: uint16(m.GetFlags()), Call: m.GetCall(), Stream: m.GetStream(), Body: m.GetBody()}
		if err := pl.handle(&f); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
	}
}

// traced says whether a debugger is attached to this process. Where the system does not tell, it says yes.
func traced() bool {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return true
	}
	_, after, found := strings.Cut(string(b), "TracerPid:")
	if !found {
		return true
	}
	var pid int
	if _, err := fmt.Sscan(after, &pid); err != nil {
		return true
	}
	return pid != 0
}
