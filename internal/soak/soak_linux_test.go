package soak

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

var (
	full   = flag.Bool("full", false, "20 minutes, with all kinds of events, servers and clients")
	update = flag.Bool("update", false, "write docs/soak.md; needs -full")
	seed   = flag.Uint64("seed", 0, "of the list of events; 0 is that of the form")
	length = flag.Duration("length", fullForm.length, "of the full form")
)

func TestMain(m *testing.M) {
	if ledger := os.Getenv(ledgerVariable); ledger != "" {
		fmt.Fprintln(os.Stderr, count(ledger))
		os.Exit(1)
	}
	mcptest.Main(m)
}

// form is the size of a soak.
type form struct {
	length, gap, quiet time.Duration
	// The numbers of official clients: of Go, and of each generation of TypeScript.
	goClients, ts int
	seed          uint64
	// callTimeout is the call time-out of the host. The client waits longer, by clientGrace. After a
	// host was killed, some SDKs wait all that time for an answer that never comes.
	callTimeout time.Duration
}

// The short form has each kind of event that is not slow. The events of the host come first, so
// that clients which wait for an answer of a killed host do so while the other events happen.
var (
	shortForm = form{17 * time.Second, time.Second, 0, 4, 2, 220, 12 * time.Second}
	fullForm  = form{20 * time.Minute, 3 * time.Second, 3 * time.Minute, 20, 10, 1, 20 * time.Second}
)

// size returns the form of this run.
func size() form {
	f := shortForm
	if *full {
		f = fullForm
		f.length = *length
	}
	if *seed != 0 {
		f.seed = *seed
	}
	return f
}

// clientGrace is how much longer than the host a client waits.
const clientGrace = 5 * time.Second

// callTime bounds a call at the client.
func callTime() time.Duration { return size().callTimeout + clientGrace }

// No call is answered wrongly, lost or executed twice while servers, disk, clients and host fail.
// Each error is true, and nothing is left behind.
func TestSoak(t *testing.T) {
	mcptest.Modules(t)
	size := size()
	r := newRig(t)
	all := r.clients(size)
	warm := &record{}
	for _, c := range all {
		for n := range c.tools {
			c.callOnce(n, warm.add)
		}
		c.closeSession()
	}
	for _, o := range warm.all {
		if o.err != nil || o.broken != "" {
			t.Fatalf("before the first event: %+v", o)
		}
	}
	first, last := holding{}, holding{}
	if size.quiet > 0 {
		first = r.holdingAtRest()
	}

	begin := time.Now()
	outcomes, end := &record{}, make(chan struct{})
	var calling sync.WaitGroup
	for _, c := range all {
		calling.Go(func() { c.run(end, outcomes.add) })
	}
	events := r.perform(begin, size)
	time.Sleep(size.gap)
	close(end)
	calling.Wait()
	if size.quiet > 0 {
		time.Sleep(size.quiet)
		last = r.holdingAtRest()
	}
	s := summarize(r, begin, outcomes.all, events, first, last)
	s.reopens = reopened(all)
	s.report(t)
}

func reopened(all []*client) (n int) {
	for _, c := range all {
		n += c.reopens - 2 // without the session to warm up, and the first session
	}
	return n
}

// clients returns the clients of all SDKs, spread over the tenants. Every second client of a
// tenant uses the endpoint of one server, the others the endpoint of all servers.
func (r *rig) clients(size form) (all []*client) {
	sdks := []struct {
		name string
		sdk  sdk
		n    int
	}{
		{"go", goSDK{}, size.goClients}, {"ts1", startNode(r.t, "1"), size.ts},
		{"ts2", startNode(r.t, "2"), size.ts},
	}
	var tools []tool
	for _, s := range services() {
		tools = append(tools, s.tool)
	}
	for _, s := range sdks {
		for i := range s.n {
			turn := i / len(r.tenants())
			c := &client{
				name: fmt.Sprintf("%s%d", s.name, i), sdk: s.sdk, tenant: r.tenants()[i%len(r.tenants())],
				tools: tools, base: r.MCP,
			}
			if turn%2 == 1 {
				c.tools = tools[turn/2%len(tools):][:1]
				c.server = c.tools[0].server
			}
			all = append(all, c)
		}
	}
	return all
}

// perform makes the events of the plan happen at their times. While an event hits the host, no
// other event happens.
func (r *rig) perform(begin time.Time, size form) []pastEvent {
	planned := plan(size.seed, size.length, size.gap, *full, r.site())
	events := make([]pastEvent, len(planned))
	var going sync.WaitGroup
	late := time.Duration(0) // by how much the events of the host have delayed the others
	for i, e := range planned {
		if e.kind.name == "disk" && !r.full {
			events[i] = pastEvent{event: e, began: begin, ended: begin}
			continue
		}
		time.Sleep(time.Until(begin.Add(e.at + late)))
		if e.kind.hits == host {
			going.Wait()
			events[i] = r.do(e)
			late = max(late, time.Since(begin.Add(e.until)))
			continue
		}
		going.Go(func() { events[i] = r.do(e) })
	}
	going.Wait()
	return slices.DeleteFunc(events, func(h pastEvent) bool {
		return h.kind.name == "disk" && !r.full
	})
}

// effects returns how often each text is in the ledgers.
func (r *rig) effects() map[string]int {
	r.t.Helper()
	all := map[string]int{}
	for _, s := range r.servers {
		if !s.counted {
			continue
		}
		file, err := os.Open(s.ledger())
		if err != nil {
			r.t.Fatal(err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			all[strings.TrimSpace(lines.Text())]++
		}
		file.Close()
	}
	return all
}

// The seed of the short form gives every kind that is not slow, and hits the host first.
func TestShortPlan(t *testing.T) {
	on := site{tenants[:shortTenants], []string{"count", "everything"}, []string{"remote"}}
	seen, hits := map[string]bool{}, true
	for _, e := range plan(shortForm.seed, shortForm.length, shortForm.gap, false, on) {
		seen[e.kind.name] = true
		if e.kind.hits == host && !hits {
			t.Errorf("%s at %v, after others", e.kind.name, e.at)
		}
		hits = e.kind.hits == host
	}
	for _, k := range kinds {
		if !k.slow && !seen[k.name] {
			t.Errorf("no %s", k.name)
		}
	}
}
