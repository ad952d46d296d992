package limits

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patient is how long a call may take on a machine that is busy: the limit itself is a quarter of a second.
const patient = 5 * time.Second

// down reserves until the server is found down, and checks that nobody waits long for that.
func down(t *testing.T, s *Shared, a *Account) {
	t.Helper()
	waitFor(t, "ErrDown", func() bool {
		begun := time.Now()
		var h Hold
		v, err := s.Reserve(context.Background(), a, one(Use{Nano: 1}), time.Now(), &h)
		if took := time.Since(begun); took > patient {
			t.Fatalf("a reservation took %s", took)
		}
		if err == nil && v.OK() {
			s.Refund(&h, time.Now())
		}
		return errors.Is(err, ErrDown)
	})
}

// up reserves until the server answers again.
func up(t *testing.T, s *Shared, a *Account) *Hold {
	t.Helper()
	h := new(Hold)
	waitFor(t, "a reservation", func() bool {
		v, err := s.Reserve(context.Background(), a, one(Use{Nano: 10}), time.Now(), h)
		if err == nil && v.Unknown > 0 {
			s.Seed(context.Background(), a, 0, 0, time.Now())
		}
		return err == nil && v.OK()
	})
	return h
}

func budgeted() *Account {
	return account(Limits{AtOnce: 50, Budget: Budget{Set: true, Nano: 1_000_000, Each: Total}})
}

// A server that is stopped and goes on later has lost nothing; what ended meanwhile is told to it.
func TestServerPauses(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := server.waiting(t, callLimit)
	a := budgeted()
	ended, running := up(t, s, a), up(t, s, a)
	server.signal(t, syscall.SIGSTOP)
	down(t, s, a)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			var h Hold
			begun := time.Now()
			if _, err := s.Reserve(context.Background(), a, one(Use{}), time.Now(), &h); !errors.Is(err, ErrDown) || time.Since(begun) > patient {
				t.Errorf("%v after %s, want ErrDown", err, time.Since(begun))
			}
		})
	}
	group.Wait()
	s.Settle(ended, Use{Nano: 7}, time.Now())
	server.signal(t, syscall.SIGCONT)
	waitFor(t, "what ended meanwhile, and what was never answered", func() bool {
		m, known, err := s.Spent(context.Background(), a, 0, time.Now())
		return err == nil && known && m == Money{Spent: 7, Held: 10}
	})
	s.Settle(running, Use{Nano: 3}, time.Now())
	waitFor(t, "the other's end", func() bool {
		m, known, err := s.Spent(context.Background(), a, 0, time.Now())
		return err == nil && known && m == Money{Spent: 10}
	})
}

// A server that comes back empty asks for what was spent.
func TestServerRestartsEmpty(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := server.waiting(t, callLimit)
	a := budgeted()
	h := up(t, s, a)
	server.kill()
	down(t, s, a)
	server.start(t)
	waitFor(t, "a question", func() bool {
		v, err := s.Reserve(context.Background(), a, one(Use{}), time.Now(), new(Hold))
		return err == nil && v.Unknown == 1
	})
	waitFor(t, "a seed", func() bool { return s.Seed(context.Background(), a, 0, 400, time.Now()) == nil })
	s.Settle(h, Use{Nano: 6}, time.Now())
	waitFor(t, "the end of the request from before", func() bool {
		m, known, err := s.Spent(context.Background(), a, 0, time.Now())
		return err == nil && known && m == Money{Spent: 406}
	})
}

// A gateway starts without its counters' server, and counts when there is one.
func TestServerComesLater(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	server.kill()
	s, err := openShared(server.url(), callLimit, discard())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	down(t, s, budgeted())
	server.start(t)
	up(t, s, budgeted())
}

// The requests of a gateway that has died end with their leases; their money counts as spent, once.
func TestGatewayDies(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	dead, s := server.shared(t), server.shared(t)
	a := account(Limits{AtOnce: 1, Budget: Budget{Set: true, Nano: 100, Each: Total}})
	lost, v := reserve(t, dead, a, one(Use{Nano: 40}), noon)
	if !v.OK() {
		t.Fatalf("%+v", v)
	}
	if _, v := reserve(t, s, a, one(Use{Nano: 1}), noon.Add(leaseFor-time.Millisecond)); v.Refusal.Limit != OverAtOnce {
		t.Fatalf("while its lease runs: %+v", v)
	}
	h, v := reserve(t, s, a, one(Use{Nano: 1}), noon.Add(leaseFor))
	if !v.OK() {
		t.Fatalf("when it has ended: %+v", v)
	}
	money(t, s, a, 0, noon.Add(leaseFor), Money{Spent: 40, Held: 1})
	s.Refund(h, noon.Add(leaseFor))

	// It was only asleep, and says now what the request used.
	dead.leases.mu.Lock()
	dead.leases.all[lost.id].until = time.Now().Add(-time.Second)
	dead.leases.mu.Unlock()
	dead.Settle(lost, Use{Nano: 5}, noon.Add(leaseFor))
	money(t, s, a, 0, noon.Add(leaseFor), Money{Spent: 5})
}

// Leases are renewed for as long as their requests run.
func TestLeasesAreRenewed(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := server.shared(t)
	a := account(Limits{AtOnce: 1})
	begun := time.Now().Add(-3 * leaseFor / 4)
	h, _ := reserve(t, s, a, one(Use{}), begun)
	s.renew(context.Background(), time.Now())
	if _, v := reserve(t, s, a, one(Use{}), begun.Add(leaseFor+time.Second)); v.Refusal.Limit != OverAtOnce {
		t.Errorf("past the lease's first end: %+v", v)
	}
	s.Settle(h, Use{}, time.Now())
	s.renew(context.Background(), time.Now())
	if _, v := reserve(t, s, a, one(Use{}), begun.Add(leaseFor+time.Second)); !v.OK() {
		t.Errorf("after its end: %+v", v)
	}
}

// An end that the server has carried out without saying so is told once more, and counts once.
func TestEndIsToldTwice(t *testing.T) {
	t.Parallel()
	s := startServer(t).shared(t)
	a := account(Limits{PerMinute: [rates]int64{Tokens: 1000}, AtOnce: 1, Budget: Budget{Set: true, Nano: 100, Each: Total}})
	other, _ := reserve(t, s, a, one(Use{Input: 500}), noon)
	s.Settle(other, Use{Input: 500}, noon)
	h, _ := reserve(t, s, a, one(Use{Input: 400, Nano: 10}), noon)
	e := ending{hold: *h, used: one(Use{Input: 100, Nano: 7}), at: noon}
	for range 2 {
		if !s.tell(context.Background(), &e) {
			t.Fatal("the server does not answer")
		}
	}
	money(t, s, a, 0, noon, Money{Spent: 7})
	if _, v := reserve(t, s, a, one(Use{Input: 1}), noon); !v.OK() || v.Standing[Tokens].Left != 399 {
		t.Errorf("with 601 of 1000 used: %+v", v)
	}
}

// A server that comes back as it was some time ago asks for what was spent, and has what is under way counted again: what
// ended since its snapshot no longer is, what began since then is.
func TestServerRestartsOlder(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s, other := server.waiting(t, callLimit), server.waiting(t, callLimit)
	a := account(Limits{AtOnce: 3, Budget: Budget{Set: true, Nano: 1_000_000, Each: Total}})
	s.Settle(up(t, s, a), Use{Nano: 10}, time.Now())
	before := up(t, s, a)
	server.save(t, s)
	s.Settle(before, Use{Nano: 7}, time.Now())
	running, theirs := up(t, s, a), up(t, other, a)
	server.kill()
	down(t, s, a)
	server.start(t)
	waitFor(t, "a question", func() bool {
		v, err := s.Reserve(context.Background(), a, one(Use{}), time.Now(), new(Hold))
		return err == nil && v.Unknown == 1
	})
	waitFor(t, "a seed", func() bool { return s.Seed(context.Background(), a, 0, 17, time.Now()) == nil })
	waitFor(t, "what is under way", func() bool {
		m, known, err := s.Spent(context.Background(), a, 0, time.Now())
		return err == nil && known && m == Money{Spent: 17, Held: 20}
	})
	third := up(t, s, a)
	var fourth Verdict
	waitFor(t, "an answer in time", func() bool {
		var err error
		fourth, err = s.Reserve(context.Background(), a, one(Use{}), time.Now(), new(Hold))
		return err == nil
	})
	if fourth.Refusal.Limit != OverAtOnce {
		t.Errorf("a fourth: %+v, want three at once", fourth)
	}
	s.Refund(third, time.Now())
	s.Settle(running, Use{Nano: 3}, time.Now())
	other.Settle(theirs, Use{Nano: 4}, time.Now())
	waitFor(t, "their ends", func() bool {
		m, known, err := other.Spent(context.Background(), a, 0, time.Now())
		return err == nil && known && m == Money{Spent: 24}
	})
}
