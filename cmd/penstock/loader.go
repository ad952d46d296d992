package main

import (
	"crypto/tls"
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/term"

	"github.com/penstock-gateway/penstock/core/config"
	"github.com/penstock-gateway/penstock/core/generation"
)

// demoText is the configuration of the built-in demo.
//
//go:embed demo.yaml
var demoText []byte

// demoFile is what the demo's text is called in messages.
const demoFile = "built-in demo"

// fileLoader reads the configuration from its file, or the demo's from the program.
type fileLoader struct {
	path string
	demo bool
	key  string // the demo's

	mu   sync.Mutex
	last *config.Config // guarded by mu: what was read last, for the folders to watch
}

func newLoader(f *serveFlags) *fileLoader {
	path := configPath(f.config)
	if f.demo || path == "" {
		return &fileLoader{demo: true}
	}
	return &fileLoader{path: path}
}

// Read gives the configuration as it stands now.
func (l *fileLoader) Read() (*config.Config, error) {
	cfg, err := l.read()
	if err == nil {
		l.mu.Lock()
		l.last = cfg
		l.mu.Unlock()
	}
	return cfg, err
}

func (l *fileLoader) read() (*config.Config, error) {
	if !l.demo {
		return config.Load(l.path, os.LookupEnv)
	}
	return config.Parse(demoFile, demoText, config.Options{Env: func(name string) (string, bool) {
		return l.key, name == "PENSTOCK_DEMO_KEY"
	}})
}

// Watch lists the files and folders that the configuration stands on.
func (l *fileLoader) Watch() []string {
	if l.demo {
		return nil
	}
	paths := []string{l.path}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil {
		paths = append(paths, l.last.PluginDirs...)
		paths = append(paths, generation.PolicyFiles(l.last)...)
	}
	return paths
}

// source says in the greeting what is served.
func (l *fileLoader) source() string {
	if l.demo {
		return "no penstock.yaml here or in the user's folder: the built-in demo"
	}
	if p, err := filepath.Abs(l.path); err == nil {
		return p
	}
	return l.path
}

// certificate reads the certificate of the listener for requests; nil where there is none.
func certificate(cfg *config.Config) (*tls.Config, error) {
	files := cfg.TLS
	if files == nil {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		path := "tls.cert"
		if missing := (*fs.PathError)(nil); errors.As(err, &missing) && missing.Path == files.Key {
			path = "tls.key"
		}
		return nil, config.Diagnostics{cfg.Errorf(path, "files in PEM; paths are relative to the configuration", err.Error())}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// render prints diagnostics with the lines that they are about, which may be a policy's.
func (l *fileLoader) render(w io.Writer, list config.Diagnostics) {
	f, ok := w.(*os.File)
	color := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	for i := range list {
		text := demoText
		if !l.demo {
			text, _ = os.ReadFile(list[i].File) // gone: the diagnostic is printed without source lines
		}
		list[i:i+1].Render(w, text, color)
	}
}
