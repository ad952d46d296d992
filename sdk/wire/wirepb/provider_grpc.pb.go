// The protocol between the penstock gateway and a provider plugin, version 1.
//
// A plugin is a program named penstock-provider-NAME. The gateway starts it as hashicorp/go-plugin does: the environment
// holds the cookie PENSTOCK_PLUGIN=4a1f7c52e0b94d0d9d3bb4a4a2c2b1de, and the first line on standard output is
//
//	1|1|unix|/path/of/the/socket|grpc
//
// (go-plugin's own version, the version of this protocol, the network, the address, "grpc"). The program serves the
// service below there, beside grpc.health.v1.Health with the service "plugin" SERVING. Asked as `penstock-provider-NAME
// describe`, it prints its manifest as JSON and leaves.
//
// Encode and decode are asked over the data plane. Where PENSTOCK_PLUGIN_FD names a descriptor, it is a stream socket
// that carries frames: u32 length of the body, u16 op, u16 flags, u64 call, u32 stream, all little endian, then the body.
// A plugin that does not use it says so in its manifest reply (stream: true), and the gateway opens Calls instead, which
// carries the same messages. The end of the socket or of Calls is the end of the plugin: it leaves.
//
// # Bodies
//
// A body is made of these, in the order given, with no tags and no padding:
//
//	uint    an unsigned varint, as in Protocol Buffers
//	int     a signed number in zigzag, as sint64
//	bool    a uint, 0 or 1
//	string  a uint, the length in bytes, and UTF-8
//	bytes   a uint, the length, and bytes
//	[x]     a uint, the number of items, and the items
//	?x      a bool, and x where it is true
//	text    the content of a JSON string between its quotes, still escaped: a span
//	value   a JSON text: a span
//	span    a uint: 0 absent · 1 inline, then bytes · 2 held, then range · 3 held, then range and facts
//	range   uint handle (from 1), uint from, uint to, uint form (0 as it is, 1 unescaped: the JSON text that a string
//	        holds, 2 escaped: string content that holds a JSON text)
//	facts   int length, bool has a backslash, bool has a byte over 0x7f, bytes head (64 at most), bytes tail (16 at most)
//
// Held bytes stay with the gateway; the plugin refers to them by handle and range. A range of a text must cut neither
// an escape nor a character. A held value of a request is referred to whole; of a frame, a range that is exactly a value.
//
// # Messages
//
//	op            flags  body
//	 1 Encode            request                         answered by 6 Plan or 8 Fault
//	 2 Decode     1      info, [frame]                   the first message of a stream; answered by 7 Events or 8 Fault
//	              0      [frame]                         answered by 7 Events or 8 Fault
//	 3 End        1      info                            the first message of a stream, which is empty
//	              0      nothing                         answered by 7 Events or 8 Fault; the stream is gone
//	 4 Drop              nothing                         the stream is gone; no answer
//	 5 Ping              nothing                         answered by 9 Pong with an empty body
//	 6 Plan              plan
//	 7 Events            [event]
//	 8 Fault             uint 0, string                  something else
//	                     uint 1, string what, string path       the dialect cannot express it
//	                     uint 2, string path, string message    no provider could serve it
//	                     uint 3, failure
//
// An answer has the call and the stream of what it answers. A stream has one message in flight; streams are independent.
// A body is 4 MiB long at most.
//
//	request   string dialect, string model, string provider, string native, bool stream, bool want_usage,
//	          int default_max, [message] messages, [tool] tools, choice choice, int max_output, value temperature,
//	          value top_p, value top_k, value frequency_penalty, value presence_penalty, value seed, int n, [text] stop,
//	          value logprobs, value top_logprobs, value logit_bias, format format, reasoning reasoning,
//	          text service_tier, text user, value metadata, text cache_key, value cache,
//	          [text] inputs, int dimensions, string encoding, [member] unknown
//
// A request with inputs is one for embeddings: a vector of so many dimensions (0: the model's own) for each, as a list of
// numbers or, where the encoding is base64, as the text of little-endian 32-bit floats. The answer holds one event of kind
// embedding for each input, whose choice is the input's number from 0.
//
//	message   uint role (1 system, 2 developer, 3 user, 4 assistant, 5 tool), text name, [part] parts, string path
//	part      uint kind (1 text, 2 image, 3 audio, 4 document, 5 call, 6 result, 7 thinking, 8 redacted, 9 refusal,
//	          10 foreign), text text, text signature, ?media, ?call, ?result, value cache, string type, value value,
//	          string path
//	media     string mime, text data, text url, text file_id, text body, [part] parts, text name, text title,
//	          text context, string detail, value citations
//	call      text id, text name, value arguments, text input, bool custom
//	result    text id, text name, [part] parts, bool error
//	tool      uint kind (0 function, 1 custom, 2 foreign), text name, text description, value parameters,
//	          value strict, value cache, string type, value raw, string path
//	choice    uint mode (0 unset, 1 auto, 2 none, 3 required, 4 named, 5 allowed), [text] names, bool required,
//	          value parallel
//	format    uint kind (0 unset, 1 text, 2 json, 3 schema), text name, text description, value schema, value strict
//	reasoning uint mode (0 unset, 1 off, 2 on, 3 adaptive), string effort, int budget, value include, string summary,
//	          string display
//	member    string path, value value
//
//	plan      string method, string path, [header] headers, [note] dropped, [rename] names, bytes literals,
//	          [segment] body
//	header    string name, string value
//	note      string path, string why, bool strict, bool approximate
//	rename    string client, string upstream
//	segment   int from, int to, uint handle (0: a range of the literals), uint form
//
//	info      string provider, string native, string model, bool stream
//	frame     string event, uint 0, bytes data
//	          string event, uint 1, bytes skeleton, [gap] gaps
//	gap       uint at, uint original, facts
//
// A skeleton is JSON whose long strings are empty; a gap says where in the skeleton the content is missing, where it
// begins in the frame, and what is known of it. The handle of a frame is its place in the message, from 1.
//
//	event     uint kind, uint mask, then the members whose bit is set in the mask, from bit 0: (int choice, int call),
//	          text id, text name, text text, bool custom, string type, value value, uint reason, text native, text stop,
//	          usage, failure
//	usage     int input, int cache_read, int cache_write, int output, int reasoning, bool known, bool disputed
//	failure   uint kind, int status, string message, string param, string code, string type, int retry_after
//	          (nanoseconds), bytes body, bool final
//
// The kinds of events are 1 begin, 2 text, 3 thinking, 4 signature, 5 redacted, 6 refusal, 7 tool begin, 8 tool input,
// 9 tool end, 10 citation, 11 logprobs, 12 foreign, 13 usage, 14 finish, 15 failed, 16 ping, 17 done, 18 embedding, 19 image. The
// reasons are 1 stop, 2 stop text, 3 length, 4 context, 5 tool, 6 filter, 7 refusal, 8 pause, 9 fault. The kinds of
// failures are the constants of sdk.Kind in order, from 1.

// Code generated by protoc-gen-go-grpc. DO NOT EDIT.
// versions:
// - protoc-gen-go-grpc v1.6.2
// - protoc             v3.21.12
// source: provider.proto

package wirepb

import (
	context "context"
	grpc "google.golang.org/grpc"
	codes "google.golang.org/grpc/codes"
	status "google.golang.org/grpc/status"
)

// This is a compile-time assertion to ensure that this generated file
// is compatible with the grpc package it is being compiled against.
// Requires gRPC-Go v1.64.0 or later.
const _ = grpc.SupportPackageIsVersion9

const (
	Provider_Manifest_FullMethodName  = "/penstock.provider.v1.Provider/Manifest"
	Provider_Configure_FullMethodName = "/penstock.provider.v1.Provider/Configure"
	Provider_Health_FullMethodName    = "/penstock.provider.v1.Provider/Health"
	Provider_Authorize_FullMethodName = "/penstock.provider.v1.Provider/Authorize"
	Provider_ReadError_FullMethodName = "/penstock.provider.v1.Provider/ReadError"
	Provider_Calls_FullMethodName     = "/penstock.provider.v1.Provider/Calls"
)

// ProviderClient is the client API for Provider service.
//
// For semantics around ctx use and closing/ending streaming RPCs, please refer to https://pkg.go.dev/google.golang.org/grpc/?tab=doc#ClientConn.NewStream.
//
// Provider is what a plugin's program serves.
type ProviderClient interface {
	// Manifest is asked once, before anything else.
	Manifest(ctx context.Context, in *ManifestRequest, opts ...grpc.CallOption) (*ManifestReply, error)
	// Configure is called for each configured provider that names the plugin, and again after a restart.
	Configure(ctx context.Context, in *ConfigureRequest, opts ...grpc.CallOption) (*ConfigureReply, error)
	// Health says that calls can be served. It may be asked at any time.
	Health(ctx context.Context, in *HealthRequest, opts ...grpc.CallOption) (*HealthReply, error)
	// Authorize gives the headers for a request, where the auth kind is signer or token. Otherwise UNIMPLEMENTED. It may
	// wait for the network, ten seconds at most. Of kind signer it is asked for each request; of kind token only for the
	// credential, and again five minutes before the headers end.
	Authorize(ctx context.Context, in *AuthorizeRequest, opts ...grpc.CallOption) (*AuthorizeReply, error)
	// ReadError reads an error body that the manifest's table does not know. UNIMPLEMENTED where the plugin does not.
	ReadError(ctx context.Context, in *ReadErrorRequest, opts ...grpc.CallOption) (*ReadErrorReply, error)
	// Calls carries the data plane where no descriptor can be inherited.
	Calls(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[Message, Message], error)
}

type providerClient struct {
	cc grpc.ClientConnInterface
}

func NewProviderClient(cc grpc.ClientConnInterface) ProviderClient {
	return &providerClient{cc}
}

func (c *providerClient) Manifest(ctx context.Context, in *ManifestRequest, opts ...grpc.CallOption) (*ManifestReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ManifestReply)
	err := c.cc.Invoke(ctx, Provider_Manifest_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *providerClient) Configure(ctx context.Context, in *ConfigureRequest, opts ...grpc.CallOption) (*ConfigureReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ConfigureReply)
	err := c.cc.Invoke(ctx, Provider_Configure_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *providerClient) Health(ctx context.Context, in *HealthRequest, opts ...grpc.CallOption) (*HealthReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(HealthReply)
	err := c.cc.Invoke(ctx, Provider_Health_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *providerClient) Authorize(ctx context.Context, in *AuthorizeRequest, opts ...grpc.CallOption) (*AuthorizeReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(AuthorizeReply)
	err := c.cc.Invoke(ctx, Provider_Authorize_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *providerClient) ReadError(ctx context.Context, in *ReadErrorRequest, opts ...grpc.CallOption) (*ReadErrorReply, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ReadErrorReply)
	err := c.cc.Invoke(ctx, Provider_ReadError_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *providerClient) Calls(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[Message, Message], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &Provider_ServiceDesc.Streams[0], Provider_Calls_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[Message, Message]{ClientStream: stream}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Provider_CallsClient = grpc.BidiStreamingClient[Message, Message]

// ProviderServer is the server API for Provider service.
// All implementations must embed UnimplementedProviderServer
// for forward compatibility.
//
// Provider is what a plugin's program serves.
type ProviderServer interface {
	// Manifest is asked once, before anything else.
	Manifest(context.Context, *ManifestRequest) (*ManifestReply, error)
	// Configure is called for each configured provider that names the plugin, and again after a restart.
	Configure(context.Context, *ConfigureRequest) (*ConfigureReply, error)
	// Health says that calls can be served. It may be asked at any time.
	Health(context.Context, *HealthRequest) (*HealthReply, error)
	// Authorize gives the headers for a request, where the auth kind is signer or token. Otherwise UNIMPLEMENTED. It may
	// wait for the network, ten seconds at most. Of kind signer it is asked for each request; of kind token only for the
	// credential, and again five minutes before the headers end.
	Authorize(context.Context, *AuthorizeRequest) (*AuthorizeReply, error)
	// ReadError reads an error body that the manifest's table does not know. UNIMPLEMENTED where the plugin does not.
	ReadError(context.Context, *ReadErrorRequest) (*ReadErrorReply, error)
	// Calls carries the data plane where no descriptor can be inherited.
	Calls(grpc.BidiStreamingServer[Message, Message]) error
	mustEmbedUnimplementedProviderServer()
}

// UnimplementedProviderServer must be embedded to have
// forward compatible implementations.
//
// NOTE: this should be embedded by value instead of pointer to avoid a nil
// pointer dereference when methods are called.
type UnimplementedProviderServer struct{}

func (UnimplementedProviderServer) Manifest(context.Context, *ManifestRequest) (*ManifestReply, error) {
	return nil, status.Error(codes.Unimplemented, "method Manifest not implemented")
}
func (UnimplementedProviderServer) Configure(context.Context, *ConfigureRequest) (*ConfigureReply, error) {
	return nil, status.Error(codes.Unimplemented, "method Configure not implemented")
}
func (UnimplementedProviderServer) Health(context.Context, *HealthRequest) (*HealthReply, error) {
	return nil, status.Error(codes.Unimplemented, "method Health not implemented")
}
func (UnimplementedProviderServer) Authorize(context.Context, *AuthorizeRequest) (*AuthorizeReply, error) {
	return nil, status.Error(codes.Unimplemented, "method Authorize not implemented")
}
func (UnimplementedProviderServer) ReadError(context.Context, *ReadErrorRequest) (*ReadErrorReply, error) {
	return nil, status.Error(codes.Unimplemented, "method ReadError not implemented")
}
func (UnimplementedProviderServer) Calls(grpc.BidiStreamingServer[Message, Message]) error {
	return status.Error(codes.Unimplemented, "method Calls not implemented")
}
func (UnimplementedProviderServer) mustEmbedUnimplementedProviderServer() {}
func (UnimplementedProviderServer) testEmbeddedByValue()                  {}

// UnsafeProviderServer may be embedded to opt out of forward compatibility for this service.
// Use of this interface is not recommended, as added methods to ProviderServer will
// result in compilation errors.
type UnsafeProviderServer interface {
	mustEmbedUnimplementedProviderServer()
}

func RegisterProviderServer(s grpc.ServiceRegistrar, srv ProviderServer) {
	// If the following call panics, it indicates UnimplementedProviderServer was
	// embedded by pointer and is nil.  This will cause panics if an
	// unimplemented method is ever invoked, so we test this at initialization
	// time to prevent it from happening at runtime later due to I/O.
	if t, ok := srv.(interface{ testEmbeddedByValue() }); ok {
		t.testEmbeddedByValue()
	}
	s.RegisterService(&Provider_ServiceDesc, srv)
}

func _Provider_Manifest_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ManifestRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ProviderServer).Manifest(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Provider_Manifest_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ProviderServer).Manifest(ctx, req.(*ManifestRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Provider_Configure_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ConfigureRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ProviderServer).Configure(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Provider_Configure_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ProviderServer).Configure(ctx, req.(*ConfigureRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Provider_Health_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(HealthRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ProviderServer).Health(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Provider_Health_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ProviderServer).Health(ctx, req.(*HealthRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Provider_Authorize_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(AuthorizeRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ProviderServer).Authorize(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Provider_Authorize_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ProviderServer).Authorize(ctx, req.(*AuthorizeRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Provider_ReadError_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ReadErrorRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(ProviderServer).ReadError(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: Provider_ReadError_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(ProviderServer).ReadError(ctx, req.(*ReadErrorRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _Provider_Calls_Handler(srv interface{}, stream grpc.ServerStream) error {
	return srv.(ProviderServer).Calls(&grpc.GenericServerStream[Message, Message]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type Provider_CallsServer = grpc.BidiStreamingServer[Message, Message]

// Provider_ServiceDesc is the grpc.ServiceDesc for Provider service.
// It's only intended for direct use with grpc.RegisterService,
// and not to be introspected or modified (even as a copy)
var Provider_ServiceDesc = grpc.ServiceDesc{
	ServiceName: "penstock.provider.v1.Provider",
	HandlerType: (*ProviderServer)(nil),
	Methods: []grpc.MethodDesc{
		{
			MethodName: "Manifest",
			Handler:    _Provider_Manifest_Handler,
		},
		{
			MethodName: "Configure",
			Handler:    _Provider_Configure_Handler,
		},
		{
			MethodName: "Health",
			Handler:    _Provider_Health_Handler,
		},
		{
			MethodName: "Authorize",
			Handler:    _Provider_Authorize_Handler,
		},
		{
			MethodName: "ReadError",
			Handler:    _Provider_ReadError_Handler,
		},
	},
	Streams: []grpc.StreamDesc{
		{
			StreamName:    "Calls",
			Handler:       _Provider_Calls_Handler,
			ServerStreams: true,
			ClientStreams: true,
		},
	},
	Metadata: "provider.proto",
}
