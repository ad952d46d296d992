package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire"
)

// The test binary is its own plugin: started with the word plugin and the name of a behaviour, it behaves.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		os.Exit(behave(os.Args[2]))
	}
	if len(os.Args) > 3 && os.Args[1] == "host" {
		os.Exit(hostUntilKilled(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// behave is the main of a test plugin.
func behave(how string) int {
	switch how {
	case "good", "blocks", "misnamed":
		return serve(how)
	case "streamed": // takes no descriptor
		if os.Unsetenv(wire.EnvFD) != nil {
			return 1
		}
		return serve(how)
	case "early":
		fmt.Fprintln(os.Stderr, "no licence found")
		return 7
	case "silent":
		untilLeft()
	case "garbage":
		fmt.Println("Hello, I am a program.")
		untilLeft()
	case "flood":
		for {
			fmt.Println(strings.Repeat("x", 1000))
		}
	case "version":
		plugin.Serve(&plugin.ServeConfig{HandshakeConfig: wire.Handshake(99), GRPCServer: plugin.DefaultGRPCServer,
			Plugins: plugin.PluginSet{wire.PluginName: &wire.Control{}}})
	case "noise":
		os.Stderr.Write(bytes.Repeat([]byte(strings.Repeat("noise ", 1000)+"\n"), 10<<20/6001))
		os.Stderr.Write(bytes.Repeat([]byte("n"), 1<<20))
		fmt.Fprintln(os.Stderr, "\nlast words")
		return serve("good")
	case "parent":
		c := exec.Command("sleep", "3600")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if c.Start() != nil {
			return 1
		}
		fmt.Fprintln(os.Stderr, "child", c.Process.Pid)
		return serve("good")
	}
	return 0
}

// untilLeft waits for the gateway to close the data plane.
func untilLeft() { _, _ = syscall.Read(3, make([]byte, 1)) }

func serve(how string) int {
	plane, err := syscall.Dup(3) // for writing what a sound plugin does not
	if err == nil {
		err = sdk.ServePlugin(&provider{how, plane})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// provider does what the model's name asks for.
type provider struct {
	how   string
	plane int
}

func (p *provider) Manifest() sdk.Manifest {
	name := os.Args[2]
	if p.how == "misnamed" {
		name = "other"
	}
	return sdk.Manifest{Name: name, Version: "1.2.3", Protocol: sdk.Protocol, MayBlock: p.how == "blocks",
		Dialects: []sdk.Dialect{{Name: "test", Path: "/test"}}}
}

func (p *provider) Configure(id string, config []byte) (sdk.Configured, error) {
	switch id {
	case "bad":
		return sdk.Configured{}, errors.New("region: want one")
	case "mortal":
		time.AfterFunc(20*time.Millisecond, func() { os.Exit(3) })
	}
	return sdk.Configured{BaseURL: "http://" + id + ".test"}, nil
}

func (p *provider) Encode(q *sdk.Request, plan *sdk.Plan) error {
	switch q.Model {
	case "exit":
		os.Exit(9)
	case "garbage":
		_, err := syscall.Write(p.plane, bytes.Repeat([]byte{0xff}, 100))
		return err
	case "hang":
		select {}
	case "pid":
		plan.Body.Int(int64(os.Getpid()))
		return nil
	case "environment":
		env, _ := json.Marshal(os.Environ())
		plan.Body.Raw(string(env))
		return nil
	case "inexpressible":
		return &sdk.Inexpressible{What: "audio", Path: "messages[0]"}
	case "invalid":
		return &sdk.Invalid{Path: "tools[0]", Message: "no name"}
	case "error":
		return errors.New("a secret cause")
	case "panic":
		panic("oh no")
	case "broken":
		plan.Body.Raw(`{"a":`)
		return nil
	}
	plan.Path = "/" + q.Provider
	plan.Drop("seed", "unknown there")
	w := &plan.Body
	w.Object()
	w.Name("model").String(q.Model)
	w.Name("text").Joined(texts(q)...)
	w.EndObject()
	return nil
}

func texts(q *sdk.Request) (ts []sdk.Text) {
	for _, m := range q.Messages {
		for _, part := range m.Parts {
			ts = append(ts, part.Text)
		}
	}
	return ts
}

func (p *provider) NewDecoder(info sdk.AnswerInfo) sdk.Decoder { return &decoder{info: info} }

func (p *provider) Authorize(_ context.Context, r sdk.AuthRequest) (sdk.Authorization, error) {
	return sdk.Authorization{Headers: []sdk.Header{{Name: "x-signed", Value: r.Credential["key"] + r.Method}}, Lifetime: time.Minute}, nil
}

func (p *provider) ReadError(status int, body *sdk.Doc) sdk.Failure {
	return sdk.Failure{Kind: sdk.UpstreamRate, Status: status, Message: body.Root().Get("m").Str(), RetryAfter: time.Second}
}

// decoder gives back what frames say, and counts them.
type decoder struct {
	info   sdk.AnswerInfo
	frames int
}

func (d *decoder) Decode(f *sdk.Frame, out *sdk.Events) error {
	if d.frames++; d.frames == 1 {
		e := out.Add(sdk.Begin)
		e.Name = sdk.T(d.info.Model)
	}
	if f.Doc == nil {
		switch string(f.Text) {
		case "[DONE]":
			out.Add(sdk.Done)
		case "twice":
			out.Add(sdk.Begin)
		case "exit":
			os.Exit(9)
		default:
			return fmt.Errorf("frame %q", f.Text)
		}
		return nil
	}
	out.Text(d.frames, f.Doc.Root().Get("t").Text())
	return nil
}

func (d *decoder) End(out *sdk.Events) error {
	e := out.Add(sdk.Finish)
	e.Choice, e.Reason = d.frames, sdk.ReasonStop
	return nil
}

// hostUntilKilled is the main of a process that is a host.
func hostUntilKilled(behaviour, how string) int {
	h := New(Options{Call: limit, Ping: limit, Bundled: func(name string) (string, []string, bool) {
		return how, []string{"plugin", name}, true
	}})
	prog, err := h.Find(nil, behaviour)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := h.Acquire(context.Background(), prog, AcquireOptions{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(p.status().PID)
	select {}
}
