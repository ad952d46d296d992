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

// Code generated by protoc-gen-go. DO NOT EDIT.
// versions:
// 	protoc-gen-go v1.36.12
// 	protoc        v3.21.12
// source: provider.proto

package wirepb

import (
	protoreflect "google.golang.org/protobuf/reflect/protoreflect"
	protoimpl "google.golang.org/protobuf/runtime/protoimpl"
	reflect "reflect"
	sync "sync"
	unsafe "unsafe"
)

const (
	// Verify that this generated code is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(20 - protoimpl.MinVersion)
	// Verify that runtime/protoimpl is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(protoimpl.MaxVersion - 20)
)

// ManifestRequest asks for the manifest.
type ManifestRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ManifestRequest) Reset() {
	*x = ManifestRequest{}
	mi := &file_provider_proto_msgTypes[0]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ManifestRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ManifestRequest) ProtoMessage() {}

func (x *ManifestRequest) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[0]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ManifestRequest.ProtoReflect.Descriptor instead.
func (*ManifestRequest) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{0}
}

// ManifestReply describes the plugin.
type ManifestReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Json          []byte                 `protobuf:"bytes,1,opt,name=json,proto3" json:"json,omitempty"`                                   // as schemas/plugin.schema.json has it
	Stream        bool                   `protobuf:"varint,2,opt,name=stream,proto3" json:"stream,omitempty"`                              // the data plane is Calls, not the inherited socket
	Authorizes    bool                   `protobuf:"varint,3,opt,name=authorizes,proto3" json:"authorizes,omitempty"`                      // Authorize is implemented
	ReadsErrors   bool                   `protobuf:"varint,4,opt,name=reads_errors,json=readsErrors,proto3" json:"reads_errors,omitempty"` // ReadError is implemented
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ManifestReply) Reset() {
	*x = ManifestReply{}
	mi := &file_provider_proto_msgTypes[1]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ManifestReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ManifestReply) ProtoMessage() {}

func (x *ManifestReply) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[1]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ManifestReply.ProtoReflect.Descriptor instead.
func (*ManifestReply) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{1}
}

func (x *ManifestReply) GetJson() []byte {
	if x != nil {
		return x.Json
	}
	return nil
}

func (x *ManifestReply) GetStream() bool {
	if x != nil {
		return x.Stream
	}
	return false
}

func (x *ManifestReply) GetAuthorizes() bool {
	if x != nil {
		return x.Authorizes
	}
	return false
}

func (x *ManifestReply) GetReadsErrors() bool {
	if x != nil {
		return x.ReadsErrors
	}
	return false
}

// ConfigureRequest configures an instance.
type ConfigureRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Provider      string                 `protobuf:"bytes,1,opt,name=provider,proto3" json:"provider,omitempty"` // the configured id
	Config        []byte                 `protobuf:"bytes,2,opt,name=config,proto3" json:"config,omitempty"`     // JSON, checked against the manifest's schema; "{}" where there is none
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ConfigureRequest) Reset() {
	*x = ConfigureRequest{}
	mi := &file_provider_proto_msgTypes[2]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ConfigureRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ConfigureRequest) ProtoMessage() {}

func (x *ConfigureRequest) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[2]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ConfigureRequest.ProtoReflect.Descriptor instead.
func (*ConfigureRequest) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{2}
}

func (x *ConfigureRequest) GetProvider() string {
	if x != nil {
		return x.Provider
	}
	return ""
}

func (x *ConfigureRequest) GetConfig() []byte {
	if x != nil {
		return x.Config
	}
	return nil
}

// ConfigureReply is what the instance tells.
type ConfigureReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	BaseUrl       string                 `protobuf:"bytes,1,opt,name=base_url,json=baseUrl,proto3" json:"base_url,omitempty"` // beats the manifest's; "" leaves it
	Dialects      []byte                 `protobuf:"bytes,2,opt,name=dialects,proto3" json:"dialects,omitempty"`              // JSON as the manifest's dialects, in their place; empty leaves them
	Auth          []byte                 `protobuf:"bytes,3,opt,name=auth,proto3" json:"auth,omitempty"`                      // JSON as the manifest's auth, in its place; empty leaves it
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ConfigureReply) Reset() {
	*x = ConfigureReply{}
	mi := &file_provider_proto_msgTypes[3]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ConfigureReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ConfigureReply) ProtoMessage() {}

func (x *ConfigureReply) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[3]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ConfigureReply.ProtoReflect.Descriptor instead.
func (*ConfigureReply) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{3}
}

func (x *ConfigureReply) GetBaseUrl() string {
	if x != nil {
		return x.BaseUrl
	}
	return ""
}

func (x *ConfigureReply) GetDialects() []byte {
	if x != nil {
		return x.Dialects
	}
	return nil
}

func (x *ConfigureReply) GetAuth() []byte {
	if x != nil {
		return x.Auth
	}
	return nil
}

// HealthRequest asks whether calls can be served.
type HealthRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *HealthRequest) Reset() {
	*x = HealthRequest{}
	mi := &file_provider_proto_msgTypes[4]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *HealthRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*HealthRequest) ProtoMessage() {}

func (x *HealthRequest) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[4]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use HealthRequest.ProtoReflect.Descriptor instead.
func (*HealthRequest) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{4}
}

// HealthReply says that they can.
type HealthReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *HealthReply) Reset() {
	*x = HealthReply{}
	mi := &file_provider_proto_msgTypes[5]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *HealthReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*HealthReply) ProtoMessage() {}

func (x *HealthReply) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[5]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use HealthReply.ProtoReflect.Descriptor instead.
func (*HealthReply) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{5}
}

// Header is a header field.
type Header struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Name          string                 `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	Value         string                 `protobuf:"bytes,2,opt,name=value,proto3" json:"value,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Header) Reset() {
	*x = Header{}
	mi := &file_provider_proto_msgTypes[6]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Header) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Header) ProtoMessage() {}

func (x *Header) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[6]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Header.ProtoReflect.Descriptor instead.
func (*Header) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{6}
}

func (x *Header) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *Header) GetValue() string {
	if x != nil {
		return x.Value
	}
	return ""
}

// AuthorizeRequest asks for the headers that authorize a request.
type AuthorizeRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Provider      string                 `protobuf:"bytes,1,opt,name=provider,proto3" json:"provider,omitempty"`
	Credential    map[string]string      `protobuf:"bytes,2,rep,name=credential,proto3" json:"credential,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"` // as configured; never to be logged
	Method        string                 `protobuf:"bytes,3,opt,name=method,proto3" json:"method,omitempty"`
	Url           string                 `protobuf:"bytes,4,opt,name=url,proto3" json:"url,omitempty"`
	Headers       []*Header              `protobuf:"bytes,5,rep,name=headers,proto3" json:"headers,omitempty"`
	PayloadHash   string                 `protobuf:"bytes,6,opt,name=payload_hash,json=payloadHash,proto3" json:"payload_hash,omitempty"` // SHA-256 in hexadecimal
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AuthorizeRequest) Reset() {
	*x = AuthorizeRequest{}
	mi := &file_provider_proto_msgTypes[7]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AuthorizeRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AuthorizeRequest) ProtoMessage() {}

func (x *AuthorizeRequest) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[7]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AuthorizeRequest.ProtoReflect.Descriptor instead.
func (*AuthorizeRequest) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{7}
}

func (x *AuthorizeRequest) GetProvider() string {
	if x != nil {
		return x.Provider
	}
	return ""
}

func (x *AuthorizeRequest) GetCredential() map[string]string {
	if x != nil {
		return x.Credential
	}
	return nil
}

func (x *AuthorizeRequest) GetMethod() string {
	if x != nil {
		return x.Method
	}
	return ""
}

func (x *AuthorizeRequest) GetUrl() string {
	if x != nil {
		return x.Url
	}
	return ""
}

func (x *AuthorizeRequest) GetHeaders() []*Header {
	if x != nil {
		return x.Headers
	}
	return nil
}

func (x *AuthorizeRequest) GetPayloadHash() string {
	if x != nil {
		return x.PayloadHash
	}
	return ""
}

// AuthorizeReply holds the headers.
type AuthorizeReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Headers       []*Header              `protobuf:"bytes,1,rep,name=headers,proto3" json:"headers,omitempty"`
	LifetimeNs    int64                  `protobuf:"varint,2,opt,name=lifetime_ns,json=lifetimeNs,proto3" json:"lifetime_ns,omitempty"` // how long they are good for; 0: this request only
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AuthorizeReply) Reset() {
	*x = AuthorizeReply{}
	mi := &file_provider_proto_msgTypes[8]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AuthorizeReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AuthorizeReply) ProtoMessage() {}

func (x *AuthorizeReply) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[8]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AuthorizeReply.ProtoReflect.Descriptor instead.
func (*AuthorizeReply) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{8}
}

func (x *AuthorizeReply) GetHeaders() []*Header {
	if x != nil {
		return x.Headers
	}
	return nil
}

func (x *AuthorizeReply) GetLifetimeNs() int64 {
	if x != nil {
		return x.LifetimeNs
	}
	return 0
}

// ReadErrorRequest asks what an error body means.
type ReadErrorRequest struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Status        int32                  `protobuf:"varint,1,opt,name=status,proto3" json:"status,omitempty"`
	Body          []byte                 `protobuf:"bytes,2,opt,name=body,proto3" json:"body,omitempty"` // JSON
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReadErrorRequest) Reset() {
	*x = ReadErrorRequest{}
	mi := &file_provider_proto_msgTypes[9]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReadErrorRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReadErrorRequest) ProtoMessage() {}

func (x *ReadErrorRequest) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[9]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReadErrorRequest.ProtoReflect.Descriptor instead.
func (*ReadErrorRequest) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{9}
}

func (x *ReadErrorRequest) GetStatus() int32 {
	if x != nil {
		return x.Status
	}
	return 0
}

func (x *ReadErrorRequest) GetBody() []byte {
	if x != nil {
		return x.Body
	}
	return nil
}

// ReadErrorReply is what it means.
type ReadErrorReply struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Kind          string                 `protobuf:"bytes,1,opt,name=kind,proto3" json:"kind,omitempty"` // such as upstream_rate
	Status        int32                  `protobuf:"varint,2,opt,name=status,proto3" json:"status,omitempty"`
	Message       string                 `protobuf:"bytes,3,opt,name=message,proto3" json:"message,omitempty"`
	Param         string                 `protobuf:"bytes,4,opt,name=param,proto3" json:"param,omitempty"`
	Code          string                 `protobuf:"bytes,5,opt,name=code,proto3" json:"code,omitempty"`
	Type          string                 `protobuf:"bytes,6,opt,name=type,proto3" json:"type,omitempty"`
	RetryAfterNs  int64                  `protobuf:"varint,7,opt,name=retry_after_ns,json=retryAfterNs,proto3" json:"retry_after_ns,omitempty"`
	Final         bool                   `protobuf:"varint,8,opt,name=final,proto3" json:"final,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReadErrorReply) Reset() {
	*x = ReadErrorReply{}
	mi := &file_provider_proto_msgTypes[10]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReadErrorReply) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReadErrorReply) ProtoMessage() {}

func (x *ReadErrorReply) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[10]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReadErrorReply.ProtoReflect.Descriptor instead.
func (*ReadErrorReply) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{10}
}

func (x *ReadErrorReply) GetKind() string {
	if x != nil {
		return x.Kind
	}
	return ""
}

func (x *ReadErrorReply) GetStatus() int32 {
	if x != nil {
		return x.Status
	}
	return 0
}

func (x *ReadErrorReply) GetMessage() string {
	if x != nil {
		return x.Message
	}
	return ""
}

func (x *ReadErrorReply) GetParam() string {
	if x != nil {
		return x.Param
	}
	return ""
}

func (x *ReadErrorReply) GetCode() string {
	if x != nil {
		return x.Code
	}
	return ""
}

func (x *ReadErrorReply) GetType() string {
	if x != nil {
		return x.Type
	}
	return ""
}

func (x *ReadErrorReply) GetRetryAfterNs() int64 {
	if x != nil {
		return x.RetryAfterNs
	}
	return 0
}

func (x *ReadErrorReply) GetFinal() bool {
	if x != nil {
		return x.Final
	}
	return false
}

// Message is a message of the data plane.
type Message struct {
	state         protoimpl.MessageState `protogen:"open.v1"`
	Op            uint32                 `protobuf:"varint,1,opt,name=op,proto3" json:"op,omitempty"`
	Flags         uint32                 `protobuf:"varint,2,opt,name=flags,proto3" json:"flags,omitempty"`
	Call          uint64                 `protobuf:"varint,3,opt,name=call,proto3" json:"call,omitempty"`
	Stream        uint32                 `protobuf:"varint,4,opt,name=stream,proto3" json:"stream,omitempty"`
	Body          []byte                 `protobuf:"bytes,5,opt,name=body,proto3" json:"body,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *Message) Reset() {
	*x = Message{}
	mi := &file_provider_proto_msgTypes[11]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *Message) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*Message) ProtoMessage() {}

func (x *Message) ProtoReflect() protoreflect.Message {
	mi := &file_provider_proto_msgTypes[11]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use Message.ProtoReflect.Descriptor instead.
func (*Message) Descriptor() ([]byte, []int) {
	return file_provider_proto_rawDescGZIP(), []int{11}
}

func (x *Message) GetOp() uint32 {
	if x != nil {
		return x.Op
	}
	return 0
}

func (x *Message) GetFlags() uint32 {
	if x != nil {
		return x.Flags
	}
	return 0
}

func (x *Message) GetCall() uint64 {
	if x != nil {
		return x.Call
	}
	return 0
}

func (x *Message) GetStream() uint32 {
	if x != nil {
		return x.Stream
	}
	return 0
}

func (x *Message) GetBody() []byte {
	if x != nil {
		return x.Body
	}
	return nil
}

var File_provider_proto protoreflect.FileDescriptor

const file_provider_proto_rawDesc = "" +
	"\n" +
	"\x0eprovider.proto\x12\x14penstock.provider.v1\"\x11\n" +
	"\x0fManifestRequest\"~\n" +
	"\rManifestReply\x12\x12\n" +
	"\x04json\x18\x01 \x01(\fR\x04json\x12\x16\n" +
	"\x06stream\x18\x02 \x01(\bR\x06stream\x12\x1e\n" +
	"\n" +
	"authorizes\x18\x03 \x01(\bR\n" +
	"authorizes\x12!\n" +
	"\freads_errors\x18\x04 \x01(\bR\vreadsErrors\"F\n" +
	"\x10ConfigureRequest\x12\x1a\n" +
	"\bprovider\x18\x01 \x01(\tR\bprovider\x12\x16\n" +
	"\x06config\x18\x02 \x01(\fR\x06config\"[\n" +
	"\x0eConfigureReply\x12\x19\n" +
	"\bbase_url\x18\x01 \x01(\tR\abaseUrl\x12\x1a\n" +
	"\bdialects\x18\x02 \x01(\fR\bdialects\x12\x12\n" +
	"\x04auth\x18\x03 \x01(\fR\x04auth\"\x0f\n" +
	"\rHealthRequest\"\r\n" +
	"\vHealthReply\"2\n" +
	"\x06Header\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value\"\xca\x02\n" +
	"\x10AuthorizeRequest\x12\x1a\n" +
	"\bprovider\x18\x01 \x01(\tR\bprovider\x12V\n" +
	"\n" +
	"credential\x18\x02 \x03(\v26.penstock.provider.v1.AuthorizeRequest.CredentialEntryR\n" +
	"credential\x12\x16\n" +
	"\x06method\x18\x03 \x01(\tR\x06method\x12\x10\n" +
	"\x03url\x18\x04 \x01(\tR\x03url\x126\n" +
	"\aheaders\x18\x05 \x03(\v2\x1c.penstock.provider.v1.HeaderR\aheaders\x12!\n" +
	"\fpayload_hash\x18\x06 \x01(\tR\vpayloadHash\x1a=\n" +
	"\x0fCredentialEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\"i\n" +
	"\x0eAuthorizeReply\x126\n" +
	"\aheaders\x18\x01 \x03(\v2\x1c.penstock.provider.v1.HeaderR\aheaders\x12\x1f\n" +
	"\vlifetime_ns\x18\x02 \x01(\x03R\n" +
	"lifetimeNs\">\n" +
	"\x10ReadErrorRequest\x12\x16\n" +
	"\x06status\x18\x01 \x01(\x05R\x06status\x12\x12\n" +
	"\x04body\x18\x02 \x01(\fR\x04body\"\xd0\x01\n" +
	"\x0eReadErrorReply\x12\x12\n" +
	"\x04kind\x18\x01 \x01(\tR\x04kind\x12\x16\n" +
	"\x06status\x18\x02 \x01(\x05R\x06status\x12\x18\n" +
	"\amessage\x18\x03 \x01(\tR\amessage\x12\x14\n" +
	"\x05param\x18\x04 \x01(\tR\x05param\x12\x12\n" +
	"\x04code\x18\x05 \x01(\tR\x04code\x12\x12\n" +
	"\x04type\x18\x06 \x01(\tR\x04type\x12$\n" +
	"\x0eretry_after_ns\x18\a \x01(\x03R\fretryAfterNs\x12\x14\n" +
	"\x05final\x18\b \x01(\bR\x05final\"o\n" +
	"\aMessage\x12\x0e\n" +
	"\x02op\x18\x01 \x01(\rR\x02op\x12\x14\n" +
	"\x05flags\x18\x02 \x01(\rR\x05flags\x12\x12\n" +
	"\x04call\x18\x03 \x01(\x04R\x04call\x12\x16\n" +
	"\x06stream\x18\x04 \x01(\rR\x06stream\x12\x12\n" +
	"\x04body\x18\x05 \x01(\fR\x04body2\x90\x04\n" +
	"\bProvider\x12V\n" +
	"\bManifest\x12%.penstock.provider.v1.ManifestRequest\x1a#.penstock.provider.v1.ManifestReply\x12Y\n" +
	"\tConfigure\x12&.penstock.provider.v1.ConfigureRequest\x1a$.penstock.provider.v1.ConfigureReply\x12P\n" +
	"\x06Health\x12#.penstock.provider.v1.HealthRequest\x1a!.penstock.provider.v1.HealthReply\x12Y\n" +
	"\tAuthorize\x12&.penstock.provider.v1.AuthorizeRequest\x1a$.penstock.provider.v1.AuthorizeReply\x12Y\n" +
	"\tReadError\x12&.penstock.provider.v1.ReadErrorRequest\x1a$.penstock.provider.v1.ReadErrorReply\x12I\n" +
	"\x05Calls\x12\x1d.penstock.provider.v1.Message\x1a\x1d.penstock.provider.v1.Message(\x010\x01B6Z4github.com/penstock-gateway/penstock/sdk/wire/wirepbb\x06proto3"

var (
	file_provider_proto_rawDescOnce sync.Once
	file_provider_proto_rawDescData []byte
)

func file_provider_proto_rawDescGZIP() []byte {
	file_provider_proto_rawDescOnce.Do(func() {
		file_provider_proto_rawDescData = protoimpl.X.CompressGZIP(unsafe.Slice(unsafe.StringData(file_provider_proto_rawDesc), len(file_provider_proto_rawDesc)))
	})
	return file_provider_proto_rawDescData
}

var file_provider_proto_msgTypes = make([]protoimpl.MessageInfo, 13)
var file_provider_proto_goTypes = []any{
	(*ManifestRequest)(nil),  // 0: penstock.provider.v1.ManifestRequest
	(*ManifestReply)(nil),    // 1: penstock.provider.v1.ManifestReply
	(*ConfigureRequest)(nil), // 2: penstock.provider.v1.ConfigureRequest
	(*ConfigureReply)(nil),   // 3: penstock.provider.v1.ConfigureReply
	(*HealthRequest)(nil),    // 4: penstock.provider.v1.HealthRequest
	(*HealthReply)(nil),      // 5: penstock.provider.v1.HealthReply
	(*Header)(nil),           // 6: penstock.provider.v1.Header
	(*AuthorizeRequest)(nil), // 7: penstock.provider.v1.AuthorizeRequest
	(*AuthorizeReply)(nil),   // 8: penstock.provider.v1.AuthorizeReply
	(*ReadErrorRequest)(nil), // 9: penstock.provider.v1.ReadErrorRequest
	(*ReadErrorReply)(nil),   // 10: penstock.provider.v1.ReadErrorReply
	(*Message)(nil),          // 11: penstock.provider.v1.Message
	nil,                      // 12: penstock.provider.v1.AuthorizeRequest.CredentialEntry
}
var file_provider_proto_depIdxs = []int32{
	12, // 0: penstock.provider.v1.AuthorizeRequest.credential:type_name -> penstock.provider.v1.AuthorizeRequest.CredentialEntry
	6,  // 1: penstock.provider.v1.AuthorizeRequest.headers:type_name -> penstock.provider.v1.Header
	6,  // 2: penstock.provider.v1.AuthorizeReply.headers:type_name -> penstock.provider.v1.Header
	0,  // 3: penstock.provider.v1.Provider.Manifest:input_type -> penstock.provider.v1.ManifestRequest
	2,  // 4: penstock.provider.v1.Provider.Configure:input_type -> penstock.provider.v1.ConfigureRequest
	4,  // 5: penstock.provider.v1.Provider.Health:input_type -> penstock.provider.v1.HealthRequest
	7,  // 6: penstock.provider.v1.Provider.Authorize:input_type -> penstock.provider.v1.AuthorizeRequest
	9,  // 7: penstock.provider.v1.Provider.ReadError:input_type -> penstock.provider.v1.ReadErrorRequest
	11, // 8: penstock.provider.v1.Provider.Calls:input_type -> penstock.provider.v1.Message
	1,  // 9: penstock.provider.v1.Provider.Manifest:output_type -> penstock.provider.v1.ManifestReply
	3,  // 10: penstock.provider.v1.Provider.Configure:output_type -> penstock.provider.v1.ConfigureReply
	5,  // 11: penstock.provider.v1.Provider.Health:output_type -> penstock.provider.v1.HealthReply
	8,  // 12: penstock.provider.v1.Provider.Authorize:output_type -> penstock.provider.v1.AuthorizeReply
	10, // 13: penstock.provider.v1.Provider.ReadError:output_type -> penstock.provider.v1.ReadErrorReply
	11, // 14: penstock.provider.v1.Provider.Calls:output_type -> penstock.provider.v1.Message
	9,  // [9:15] is the sub-list for method output_type
	3,  // [3:9] is the sub-list for method input_type
	3,  // [3:3] is the sub-list for extension type_name
	3,  // [3:3] is the sub-list for extension extendee
	0,  // [0:3] is the sub-list for field type_name
}

func init() { file_provider_proto_init() }
func file_provider_proto_init() {
	if File_provider_proto != nil {
		return
	}
	type x struct{}
	out := protoimpl.TypeBuilder{
		File: protoimpl.DescBuilder{
			GoPackagePath: reflect.TypeOf(x{}).PkgPath(),
			RawDescriptor: unsafe.Slice(unsafe.StringData(file_provider_proto_rawDesc), len(file_provider_proto_rawDesc)),
			NumEnums:      0,
			NumMessages:   13,
			NumExtensions: 0,
			NumServices:   1,
		},
		GoTypes:           file_provider_proto_goTypes,
		DependencyIndexes: file_provider_proto_depIdxs,
		MessageInfos:      file_provider_proto_msgTypes,
	}.Build()
	File_provider_proto = out.File
	file_provider_proto_goTypes = nil
	file_provider_proto_depIdxs = nil
}
