package pluginhosttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/penstock-gateway/penstock/sdk"
	"github.com/penstock-gateway/penstock/sdk/wire"
	"github.com/penstock-gateway/penstock/sdk/wire/wirepb"
)

// This file has the checks that look at the program itself, without the host.

// command makes a command in a process group of its own, with an environment like that of the host.
func command(ctx context.Context, args []string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// describe asks for the manifest as an operator does, before anything is trusted.
func (k *kit) describe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := command(ctx, k.Describe)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("describe: %v: %s", err, errs.String())
	}
	if !json.Valid(out) {
		return fmt.Errorf("describe: want JSON and nothing else, got %.80q", out)
	}
	k.described = out
	return nil
}

// byHand starts the program as a curious person does: without what a gateway says to it. It must leave and say so.
func (k *kit) byHand(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := command(limited, k.Serve)
	err := cmd.Run()
	switch {
	case limited.Err() != nil:
		return fmt.Errorf("without the gateway's cookie: has not ended within %v", commandLimit)
	case err == nil:
		return errors.New("without the gateway's cookie: ended as if all were well, want another exit code than 0")
	}
	return nil
}

// stdout greets the program over its own socket, asks it the usual, and looks at all that it has written to standard
// output: the greeting is one line, and nothing comes after.
func (k *kit) stdout(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cookie := wire.Handshake(sdk.Protocol)
	cmd := command(ctx, k.Serve, cookie.MagicCookieKey+"="+cookie.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS="+strconv.Itoa(sdk.Protocol))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Cancel()
	lines := bufio.NewReader(out)
	greeting, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("ended before it greeted: %q", greeting)
	}
	parts := strings.Split(strings.TrimSpace(greeting), "|")
	if len(parts) < 5 || parts[0] != "1" || parts[1] != strconv.Itoa(sdk.Protocol) || parts[2] != "unix" || parts[4] != "grpc" {
		return fmt.Errorf("greeted with %q: want 1|%d|unix|PATH|grpc", greeting, sdk.Protocol)
	}
	if err := k.converse(ctx, parts[3]); err != nil {
		return err
	}
	_ = cmd.Cancel()
	rest, err := io.ReadAll(io.LimitReader(lines, 64<<10))
	if len(rest) > 0 {
		return fmt.Errorf("wrote to standard output after the greeting: %.80q", rest)
	}
	return err
}

// converse asks the control service for the manifest, which must be the described one, and for a sign of life.
func (k *kit) converse(ctx context.Context, socket string) error {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	control := wirepb.NewProviderClient(conn)
	reply, err := control.Manifest(ctx, &wirepb.ManifestRequest{})
	if err != nil {
		return fmt.Errorf("method Manifest: %v", err)
	}
	if _, err := control.Configure(ctx, &wirepb.ConfigureRequest{Provider: instance, Config: k.Config}); err != nil {
		return fmt.Errorf("method Configure: %v", err)
	}
	if _, err := control.Health(ctx, &wirepb.HealthRequest{}); err != nil {
		return fmt.Errorf("method Health: %v", err)
	}
	if k.described == nil {
		return nil
	}
	var told, described any
	if err := json.Unmarshal(reply.GetJson(), &told); err != nil {
		return fmt.Errorf("method Manifest: %v", err)
	}
	if err := json.Unmarshal(k.described, &described); err != nil {
		return fmt.Errorf("describe: %v", err)
	}
	if !reflect.DeepEqual(told, described) {
		return errors.New("manifest: describe prints another one than the gateway is told")
	}
	return nil
}

// gone says whether a process has ended, within a time. One that nobody has reaped has ended, too.
func gone(pid int, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(poll) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, state, ok := bytes.Cut(stat, []byte(") ")); err == nil && ok && state[0] == 'Z' {
			return true
		}
	}
	return false
}

// orphaned kills the process that holds the plugin: the plugin must not outlive it.
func (k *kit) orphaned(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.Hold[0], k.Hold[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed: it says so
	if err != nil {
		return fmt.Errorf("the host that was to be killed has not told the plugin's process: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return err
	}
	if !gone(pid, endLimit) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return fmt.Errorf("process %d lives %v after its host was killed", pid, endLimit)
	}
	return nil
}
