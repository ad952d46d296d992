package limits

import (
	"fmt"
	"math"
	"time"
)

// Period is after which spending begins at zero again, by the calendar in UTC.
type Period uint8

// The periods. A week begins on Monday.
const (
	Total Period = iota // it never begins again
	Day
	Week
	Month
)

// ParsePeriod gives the period of a name: day, week, month, total.
func ParsePeriod(name string) (Period, error) {
	for p, n := range periodNames {
		if n == name {
			return Period(p), nil
		}
	}
	return 0, fmt.Errorf("period %q: want day, week, month or total", name)
}

var periodNames = [...]string{Total: "total", Day: "day", Week: "week", Month: "month"}

// String names the period.
func (p Period) String() string { return periodNames[p] }

// Start gives the beginning of the period that a moment is in. That of Total is 1970.
func (p Period) Start(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	switch p {
	case Day:
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	case Week:
		since := (int(t.UTC().Weekday()) + 6) % 7 // days since Monday
		return time.Date(y, m, d-since, 0, 0, 0, 0, time.UTC)
	case Month:
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(0, 0).UTC()
}

// End gives the beginning of the next period. That of Total is beyond all times that are met.
func (p Period) End(t time.Time) time.Time {
	s := p.Start(t)
	switch p {
	case Day:
		return s.AddDate(0, 0, 1)
	case Week:
		return s.AddDate(0, 0, 7)
	case Month:
		return s.AddDate(0, 1, 0)
	}
	return time.Unix(0, math.MaxInt64).UTC()
}
