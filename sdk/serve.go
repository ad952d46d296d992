package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/penstock-gateway/penstock/sdk/wire"
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
	ended := make(chan error, 2)
	control := &control{provider: p, manifest: manifest}
	if nc != nil {
		go func() { ended <- serveConn(p, manifest.MayBlock, nc) }()
	} else {
		control.stream = true
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

// serveConn answers the calls that come over a socket until it is closed.
func serveConn(p Provider, mayBlock bool, nc net.Conn) error {
	conn := wire.NewConn(nc, 0)
	defer conn.Close()
	send := conn.Queue
	if mayBlock {
		send = conn.Send
	}
	pl := newPlane(p, mayBlock, send)
	err := conn.Receive(pl.handle)
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
