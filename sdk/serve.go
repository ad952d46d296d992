package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstock-gateway/penstock/sdk/wire"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// Serve is the main of a plugin's program. It does not return.
//
// Started by the gateway, the program serves p until the gateway leaves. Called with the word describe it prints p's
// manifest as JSON, which is what an operator sees before trusting it. With -debug it prints its process id and waits
// for a debugger before it serves.
func Serve(p Provider) {
	if err := serve(p, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(p Provider, args []string) error {
	switch {
	case len(args) == 0:
		return ServePlugin(p)
	case args[0] == "describe" && len(args) == 1:
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(complete(p.Manifest()))
	case args[0] == "-debug" && len(args) == 1:
		fmt.Fprintf(os.Stderr, "process %d waits for a debugger\n", os.Getpid())
		for !traced() {
			time.Sleep(200 * time.Millisecond)
		}
		return ServePlugin(p)
	}
	return fmt.Errorf("argument %q: want describe, -debug, or none; the gateway starts this program", args[0])
}

// complete fills in what every plugin of this package has in common.
func complete(m Manifest) Manifest {
	if m.Protocol == 0 {
		m.Protocol = Protocol
	}
	return m
}

// ServePlugin serves p in this process, which the gateway has started, until the gateway closes the data plane or asks
// for the end. It is for programs that are more than one plugin; they should leave when it returns.
//
// Interrupts and requests to terminate are ignored from then on: a service manager sends them to all processes of a
// service, and the gateway still has answers to finish. The end of the data plane is what ends a plugin.
func ServePlugin(p Provider) error {
	if os.Getenv(wire.Handshake(Protocol).MagicCookieKey) != wire.Handshake(Protocol).MagicCookieValue {
		return errors.New("this is a plugin of the penstock gateway, which starts it: put it into a plugin folder")
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	manifest := complete(p.Manifest())
	nc, err := inherited()
	if err != nil {
		return err
	}
	ended := make(chan error, 3)
	control := &control{provider: p, manifest: manifest}
	if nc != nil {
		go func() { ended <- serveConn(p, manifest.MayBlock, nc) }()
	} else {
		control.stream = func(err error) { ended <- err }
		go func() { ended <- orphaned(os.Getppid()) }()
	}
	go func() {
		plugin.Serve(&plugin.ServeConfig{
			HandshakeConfig: wire.Handshake(Protocol),
			Plugins:         plugin.PluginSet{wire.PluginName: &wire.Control{Provider: control}},
			GRPCServer:      newControlServer,
			Logger:          hclog.NewNullLogger(),
		})
		ended <- nil
	}()
	return <-ended
}

// controlBytes bounds a message of the control service; the gRPC form of the data plane needs a frame's bound.
const controlBytes = wire.MaxBody + 64<<10

func newControlServer(opts []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(controlBytes), grpc.MaxSendMsgSize(controlBytes))...)
}

// inherited gives the socket that the gateway has passed; nil where it has passed none.
func inherited() (net.Conn, error) {
	name := os.Getenv(wire.EnvFD)
	if name == "" {
		return nil, nil
	}
	fd, err := strconv.ParseUint(name, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s: want the number of a descriptor, got %q", wire.EnvFD, name)
	}
	f := os.NewFile(uintptr(fd), "data plane")
	defer f.Close()
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("%s: descriptor %d is no socket: %v", wire.EnvFD, fd, err)
	}
	return nc, nil
}

// ServeConn answers the calls that come over a data plane until the other side closes it. It is for tests; a plugin's
// program has it from Serve.
func ServeConn(p Provider, nc net.Conn) error { return serveConn(p, p.Manifest().MayBlock, nc) }

func serveConn(p Provider, mayBlock bool, nc net.Conn) error {
	conn := wire.NewConn(nc, 0)
	defer conn.Close()
	send := conn.Queue
	if mayBlock {
		send = conn.Send
	}
	pl := newPlane(p, mayBlock, send)
	err := conn.Serve(pl.handle)
	pl.running.Wait()
	return err
}

// orphaned waits for the end of the process that has started this one.
func orphaned(parent int) error {
	for os.Getppid() == parent {
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}

// control is the control service of a provider.
type control struct {
	wirepb.UnimplementedProviderServer
	provider Provider
	manifest Manifest
	stream   func(error) // told the end of Calls; nil where the data plane is a socket
	called   atomic.Bool // Calls has been opened, which it may be once
	mu       sync.Mutex  // holds back calls of a provider that may not block
}

// Manifest gives the manifest, and what else the provider does.
func (s *control) Manifest(context.Context, *wirepb.ManifestRequest) (*wirepb.ManifestReply, error) {
	text, err := json.Marshal(s.manifest)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "manifest: %v", err)
	}
	_, authorizes := s.provider.(Authorizer)
	_, reads := s.provider.(ErrorReader)
	return &wirepb.ManifestReply{Json: text, Stream: s.stream != nil, Authorizes: authorizes, ReadsErrors: reads}, nil
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
	reply := &wirepb.ConfigureReply{BaseUrl: c.BaseURL}
	if c.Dialects != nil {
		if reply.Dialects, err = json.Marshal(c.Dialects); err != nil {
			return nil, status.Errorf(codes.Internal, "dialects: %v", err)
		}
	}
	if c.Auth != nil {
		if reply.Auth, err = json.Marshal(c.Auth); err != nil {
			return nil, status.Errorf(codes.Internal, "auth: %v", err)
		}
	}
	return reply, nil
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

// Calls carries the data plane where no descriptor could be passed. Its end is the end of the plugin.
func (s *control) Calls(calls wirepb.Provider_CallsServer) error {
	if s.stream == nil || s.called.Swap(true) {
		return status.Error(codes.FailedPrecondition, "the data plane has been opened before")
	}
	err := s.serveCalls(calls)
	s.stream(err)
	return err
}

func (s *control) serveCalls(calls wirepb.Provider_CallsServer) error {
	var sending sync.Mutex
	pl := newPlane(s.provider, s.manifest.MayBlock, func(f *wire.Frame) error {
		sending.Lock()
		defer sending.Unlock()
		return calls.Send(&wirepb.Message{Op: uint32(f.Op), Flags: uint32(f.Flags), Call: f.Call, Stream: f.Stream, Body: f.Body})
	})
	defer pl.running.Wait()
	for {
		m, err := calls.Recv()
		if err == io.EOF || status.Code(err) == codes.Canceled {
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
