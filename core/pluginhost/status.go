package pluginhost

import "time"

// The states of a process.
const (
	StateStarting    = "starting"    // for the first time
	StateRunning     = "running"     // calls are served
	StateRestarting  = "restarting"  // it died; calls wait for the next one within their limit
	StateQuarantined = "quarantined" // it dies again and again; calls fail at once
	StateEnding      = "ending"      // nobody holds it any more
)

// Status tells of one process.
type Status struct {
	Name     string    `json:"name"`
	Isolate  string    `json:"isolate,omitempty"`
	Version  string    `json:"version"`
	PID      int       `json:"pid"` // 0 while there is none
	Since    time.Time `json:"since,omitzero"`
	Restarts int       `json:"restarts"`
	Protocol int       `json:"protocol"`
	SHA256   string    `json:"sha256"` // of the executable; "bundled" for a plugin that penstock ships
	Path     string    `json:"path"`
	State    string    `json:"state"`
	Error    string    `json:"error,omitempty"`  // why it ended or could not be started, the last time
	Stderr   []string  `json:"stderr,omitempty"` // the last lines, bounded
}

func (p *Process) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Name: p.prog.Name, Isolate: p.key.isolate, SHA256: p.prog.Hash, Path: p.prog.Path, State: p.state,
		Restarts: p.restarts, Since: p.since, Error: p.lastErr, Stderr: p.lines.tail()}
	if p.manifest != nil {
		s.Version, s.Protocol = p.manifest.Version, p.manifest.Protocol
	}
	if p.now != nil {
		s.PID = p.now.runner.pid()
	}
	return s
}
