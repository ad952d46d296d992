package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/penstock-gateway/penstock/core/store/storetest"
)

// twins are two gateways on one store and one server of counters, at an upstream that holds what it is asked.
type twins struct {
	bringing
	there   *served
	release atomic.Pointer[chan struct{}] // what the upstream waits for; nil: it answers at once
	started atomic.Int64                  // calls that have reached it
}

func newTwins(t *testing.T) *twins {
	p := new(twins)
	p.up = newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		p.started.Add(1)
		if release := p.release.Load(); release != nil {
			<-*release
		}
		answers("ok")(w, r)
	})
	url, _ := startCounters(t)
	text := bringingText(p.up, fmt.Sprintf("counters: {url: %q}\nstore: {url: %q, encryption: {key: %s}}", url, storetest.Postgres(t).URL(), firstKey))
	p.served, p.there = servePlain(t, text), servePlain(t, text)
	return p
}

// knows waits until the second gateway knows a key of the first, with its team and organisation.
func (p *twins) knows(secret string) {
	p.t.Helper()
	p.there.await("the key", func() bool { return p.there.keyOf(secret).status == http.StatusOK })
}

// race sends 200 requests at once by both gateways, with two keys in turn, and gives how many were served; all others were
// refused, in words.
func (p *twins) race(keys [2]string, refusal string) int64 {
	p.t.Helper()
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	p.release.Store(&release)
	defer p.release.Store(nil)
	gateways := []*served{p.served, p.there}
	before := p.started.Load()
	var refused, served atomic.Int64
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			a := gateways[i%2].verdict(keys[i/2%2])
			switch {
			case a.status == http.StatusOK:
				served.Add(1)
			case a.status == http.StatusTooManyRequests && strings.Contains(a.body, refusal):
				refused.Add(1)
			default:
				p.t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	p.await("all verdicts", func() bool { return refused.Load()+p.started.Load()-before >= 200 })
	letGo()
	group.Wait()
	return served.Load()
}

// TestTwoGateways: two gateways on one store and one server of counters let the money of an organisation, and that of a
// team, be spent once; and a credential that one of them is given, changed or rid of is so at the other.
func TestTwoGateways(t *testing.T) {
	t.Parallel()
	p := newTwins(t)
	// Each request is reserved at 1,000 tokens out and 5 in: 0.002005 USD, a 40th of these budgets.
	p.must("organisations", "set", "acme", "--budget", "0.0802", "--every", "total")
	p.must("teams", "set", "one", "--organisation", "acme", "--budget", "5")
	p.must("teams", "set", "two", "--organisation", "acme")
	keys := [2]string{p.must("keys", "create", "a", "--team", "one", "--budget", "5"), p.must("keys", "create", "b", "--team", "two")}
	p.knows(keys[0])
	p.knows(keys[1])
	n := p.race(keys, `the organisation \"acme\" may spend 0.0802 USD`)
	spentOnce(t, "an organisation's money for 40", n, 40, p.served, p.there)
	p.must("teams", "set", "three", "--budget", "0.0802", "--every", "day")
	keys = [2]string{p.must("keys", "create", "c", "--team", "three"), p.must("keys", "create", "d", "--team", "three", "--budget", "5")}
	p.knows(keys[0])
	p.knows(keys[1])
	n = p.race(keys, `the team \"three\" may spend 0.0802 USD a day`)
	spentOnce(t, "a team's money for 40", n, 40, p.served, p.there)
	p.credentials()
}

// credentials: the first gateway is told of a credential, of another in its place, and of its end; the second goes by it
// long before what it has read is too old.
func (p *twins) credentials() {
	laptop := p.must("keys", "create", "laptop")
	goesOut := func(what, with string) {
		p.t.Helper()
		p.there.await(what, func() bool {
			got, a := p.there.askAs(p.up, laptop)
			return got == with && a.status == http.StatusOK
		})
	}
	goesOut("with the operator's", theOperators)
	p.set(ofKey, 0, "--key", "laptop")
	goesOut("with the key's own", ofKey)
	p.set(ofTeam, 0, "--key", "laptop")
	goesOut("with the one in its place", ofTeam)
	if said := p.must("credentials", "rotate"); !strings.HasPrefix(said, "0 encrypted anew") {
		p.t.Errorf("rotate: %s", said)
	}
	p.must("credentials", "remove", "--key", "laptop", "--provider", "openai")
	goesOut("with the operator's again", theOperators)
	p.set(ofKey, 0, "--key", "laptop")
	goesOut("with the key's own again", ofKey)
	p.must("keys", "revoke", "laptop")
	p.there.await("the key's end", func() bool { return p.there.keyOf(laptop).status == http.StatusUnauthorized })
}
