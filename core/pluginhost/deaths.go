package pluginhost

import (
	"fmt"
	"time"
)

// When a process is given up, and how long a restart waits.
const (
	loopDeaths = 5 // within loopWindow
	loopWindow = time.Minute
	quarantine = time.Minute // how long a process in a crash loop rests before it is tried again
)

// waits are the times before a restart, by the deaths within loopWindow. A lone death costs none: the next request is to
// find the process running.
var waits = [loopDeaths - 1]time.Duration{0, 100 * time.Millisecond, time.Second, 10 * time.Second}

// deaths remembers when a process died of late.
type deaths struct {
	recent []time.Time
	rested time.Time // the end of the last quarantine
}

// add counts a death. It gives the wait before the next start, and why the process is to be quarantined, if it is. A
// death soon after a quarantine leads to the next one.
func (d *deaths) add(now time.Time) (wait time.Duration, loop string) {
	keep := d.recent[:0]
	for _, t := range d.recent {
		if now.Sub(t) < loopWindow {
			keep = append(keep, t)
		}
	}
	d.recent = append(keep, now)
	switch {
	case !d.rested.IsZero() && now.Sub(d.rested) < loopWindow:
		loop = fmt.Sprintf("ended again within %v of its last quarantine", loopWindow)
	case len(d.recent) >= loopDeaths:
		loop = fmt.Sprintf("ended %d times within %v", len(d.recent), loopWindow)
	default:
		return waits[len(d.recent)-1], ""
	}
	d.recent, d.rested = d.recent[:0], now.Add(quarantine)
	return quarantine, loop
}
