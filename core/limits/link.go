package limits

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
)

// How long the server is waited for.
const (
	callLimit = 250 * time.Millisecond // of one call
	connLimit = time.Second            // of a connection that gives no sign
	downFor   = time.Second            // after a call that failed none is made for so long; then one tries
	atATime   = 512                    // calls; more find the server down
)

// link is the way to the server. It never keeps a caller longer than its wait: a server that has failed to answer is
// asked again by one call a second, and the others are refused at once.
type link struct {
	options valkey.ClientOption
	wait    time.Duration
	client  atomic.Pointer[valkey.Client]
	serving atomic.Pointer[string] // which run of the server; see runs
	doubted atomic.Bool            // it has failed since: another run may serve
	down    atomic.Int64           // until then, Unix ns; 0: it answers
	slots   chan struct{}
	log     *slog.Logger
}

// The scripts never change: they are the program's text.
var (
	take   = valkey.NewLuaScript(takeText)
	finish = valkey.NewLuaScript(endText)
	seed   = valkey.NewLuaScript(seedText)
	begin  = valkey.NewLuaScript(beginText)
)

func newLink(o valkey.ClientOption, wait time.Duration, log *slog.Logger) link {
	return link{options: o, wait: wait, slots: make(chan struct{}, atATime), log: log}
}

// connect tries until there is a connection; from then on the client renews it by itself.
func (l *link) connect(ctx context.Context) {
	for {
		c, err := valkey.NewClient(l.options)
		if err == nil {
			var run string
			if run, err = runs(ctx, c, connLimit); err == nil {
				l.serving.Store(&run)
				l.client.Store(&c)
				l.up()
				return
			}
			c.Close()
		}
		l.failed(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryEvery):
		}
	}
}

func (l *link) close() {
	if c := l.client.Load(); c != nil {
		(*c).Close()
	}
}

// run runs a script. Where it fails, sent says whether the server may have run it all the same. The error is ErrDown or
// that of ctx.
func (l *link) run(ctx context.Context, script *valkey.Lua, keys, args []string) (got []int64, sent bool, err error) {
	sent, err = l.call(ctx, func(ctx context.Context, c valkey.Client) error {
		r := script.Exec(ctx, c, keys, args)
		n, err := r.AsIntSlice()
		if err != nil {
			_, err = r.AsInt64()
		}
		got = n
		return err
	})
	return got, sent, err
}

// fields reads some of a hash; those that are not there are "".
func (l *link) fields(ctx context.Context, key string, names ...string) ([]string, error) {
	var got []string
	_, err := l.call(ctx, func(ctx context.Context, c valkey.Client) error {
		all, err := c.Do(ctx, c.B().Hmget().Key(key).Field(names...).Build()).ToArray()
		for _, m := range all {
			s, _ := m.ToString() // nil: not there
			got = append(got, s)
		}
		return err
	})
	if err == nil && len(got) != len(names) {
		err = ErrDown
	}
	return got, err
}

// call makes one call within its limit.
func (l *link) call(ctx context.Context, do func(context.Context, valkey.Client) error) (sent bool, err error) {
	c := l.client.Load()
	if c == nil || !l.admits() {
		return false, ErrDown
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	default:
		return false, ErrDown
	}
	bounded, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	err = do(bounded, *c)
	switch {
	case err == nil:
		l.up()
		return true, nil
	case ctx.Err() != nil: // the caller has gone; it says nothing of the server
		return true, ctx.Err()
	}
	l.failed(err)
	_, answered := valkey.IsValkeyErr(err)
	return !answered && !errors.Is(err, valkey.ErrClosing), ErrDown
}

// admits says whether a call may be made: of those that find the server down for long enough, one.
func (l *link) admits() bool {
	until := l.down.Load()
	now := time.Now().UnixNano()
	return until == 0 || now >= until && l.down.CompareAndSwap(until, now+int64(downFor))
}

func (l *link) up() {
	if l.down.Swap(0) != 0 {
		l.log.Info("counters: the server answers")
	}
}

func (l *link) failed(err error) {
	l.doubted.Store(true)
	if l.down.Swap(time.Now().Add(downFor).UnixNano()) == 0 {
		l.log.Error("counters: the server does not answer", "error", err)
	}
}
