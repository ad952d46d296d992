//go:build unix

package demo

import (
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// processFaults are those that need this system: what is done to the plugin's own process, and a door that is shut.
func processFaults() []Fault {
	self := func(f Fault, do func()) Fault {
		f.self, f.Process = do, true
		f.play = func(s *scene) {
			do()
			s.stall()
		}
		return f
	}
	return []Fault{
		{Name: "refused", Says: "the connection is refused", Connect: true, url: refusing},
		{Name: "unanswered", Says: "nobody answers the connection", Connect: true, url: unanswered},
		self(Fault{Name: "plugin-killed", Says: "the plugin's process is killed"}, kill),
		{Name: "plugin-killed-midstream", Says: "the plugin's process is killed in the midst of the answer", Late: true, Process: true, play: func(s *scene) {
			s.head(s.media())
			s.send(s.opening + s.begun)
			kill()
		}},
		self(Fault{Name: "plugin-hung", Says: "the plugin's process is stopped"}, func() { signal(syscall.SIGSTOP) }),
		self(Fault{Name: "plugin-garbage", Says: "the plugin writes garbage to the gateway"}, garbage),
	}
}

func kill() { signal(syscall.SIGKILL) }

func signal(s syscall.Signal) {
	_ = syscall.Kill(os.Getpid(), s) // a process may signal itself
}

// garbage writes to every connection of the process to its parent: the sockets of the Unix family.
func garbage() {
	text := make([]byte, 64<<10)
	for i := range text {
		text[i] = byte(0xa5 ^ i)
	}
	for fd := 3; fd < 64; fd++ {
		name, err := syscall.Getpeername(fd)
		if _, ok := name.(*syscall.SockaddrUnix); err == nil && ok {
			_, _ = syscall.Write(fd, text) // what does not fit is not needed
		}
	}
}

// refusing gives the address of a socket that does not listen: nobody else can take its port meanwhile.
func refusing(d *doors) (string, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	syscall.CloseOnExec(fd)
	d.ends = append(d.ends, func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	at, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return "", errors.New("demo: the socket has no address")
	}
	return "http://127.0.0.1:" + strconv.Itoa(at.Port), nil
}

// unanswered gives the address of a socket whose queue of connections is full: the system lets further ones wait without
// a word, as a firewall does that drops them.
func unanswered(d *doors) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	d.ends = append(d.ends, func() { l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return "", err
	}
	var shortened error
	err = raw.Control(func(fd uintptr) { shortened = syscall.Listen(int(fd), 0) })
	if err == nil {
		err = shortened
	}
	if err != nil {
		return "", err
	}
	for range 16 { // the queue takes one or two
		c, err := net.DialTimeout("tcp", l.Addr().String(), 50*time.Millisecond)
		if err != nil {
			break
		}
		d.ends = append(d.ends, func() { c.Close() })
	}
	return "http://" + l.Addr().String(), nil
}
