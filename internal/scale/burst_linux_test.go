package scale

import (
	"fmt"
	"testing"
	"time"

	merge "mcpd/gateway/catalog"
	"mcpd/internal/mcptest"
)

// Bounds of a burst that even a busy machine keeps. docs/scale.md has measured values.
const (
	maxLate = 10 * time.Second // from the last list that changed to the last client that is told
	maxCPU  = 10 * time.Second // of mcpd, from the beginning of a burst until it is over
	maxRSS  = 1024             // MiB
	// quietAfterBurst is how long no notification comes when a burst is over.
	quietAfterBurst = merge.ChangesMost + merge.ChangesQuiet + time.Second
)

// burst is the result of one burst of changes.
type burst struct {
	name     string
	changed  []string // the notifications that each client must receive
	took     time.Duration
	late     time.Duration // from the last list to the last client that was told
	received summary
	used     usage
}

// clients are the kinds of clients, each of which listens in one revision of the protocol.
var clients = []struct {
	name string
	open opening
}{
	{"sessions of 2025-11-25, each with a GET stream", legacyStream},
	{"`subscriptions/listen` of 2026-07-28", modernStream},
}

// Servers come up in one burst while clients listen. Then all servers change in a second burst.
// Each client is told once for each burst.
func TestBursts(t *testing.T) {
	n, streams := 30, 60
	if *full {
		n, streams = 1000, 4000
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			if !*full {
				t.Parallel()
			}
			s := startServers(t, n)
			host := mcptest.Start(t, mcptest.HostOptions{Config: s.config(""), Binary: *binary})
			before := usageOf(t, host.PID())
			a := openStreams(t, streams, host.MCP+"/mcp", c.open)
			opened := usageOf(t, host.PID()).since(before)
			a.reset()

			b := a.runBurst(t, s, host.PID(), "servers come up", "resources/templates/list",
				changes, s.allowAllStarts)
			b.check(t)
			again := a.runBurst(t, s, host.PID(), "all change their tools", "tools/list",
				changes[:1], func() {
					for i := range n {
						s.change(i)
					}
				})
			again.check(t)
			noteBursts(t, c.name, streams, n, opened, b, again)
		})
	}
}

// runBurst starts a burst and waits until it is over: every server has answered a list, and no
// further notification comes.
func (a *audience) runBurst(
	t *testing.T, s *servers, pid int, label, list string, changed []string, begin func(),
) *burst {
	t.Helper()
	a.reset()
	before, lists, start := usageOf(t, pid), s.answered(list), time.Now()
	begin()
	for end := start.Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		n := s.answered(list) - lists
		told := a.summary()
		if n >= s.n && time.Since(s.lastList()) > quietAfterBurst &&
			time.Since(told.last) > quietAfterBurst {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %d of %d lists were asked for; the last change was told %v ago", label, n, s.n,
				time.Since(told.last))
		}
	}
	told := a.summary()
	return &burst{
		name: label, changed: changed, received: told, used: usageOf(t, pid).since(before),
		took: s.lastList().Sub(start), late: told.last.Sub(s.lastList()),
	}
}

// check fails the test unless every client was told once of each expected change, and never of
// any other. A long burst may repeat the notification once for each merge.ChangesMost. check also
// verifies the bounds of a burst.
func (b *burst) check(t *testing.T) {
	t.Helper()
	most := 1 + int(b.took/merge.ChangesMost)
	for _, method := range changes {
		least, most := 0, most
		for _, changed := range b.changed {
			if changed == method {
				least = 1
			}
		}
		if least == 0 {
			most = 0
		}
		if b.received.least[method] < least || b.received.most[method] > most {
			t.Errorf("%s: clients were told %d to %d times of %s, want %d to %d",
				b.name, b.received.least[method], b.received.most[method], method, least, most)
		}
	}
	if b.late > maxLate || b.used.cpu > maxCPU || b.used.rss > maxRSS || b.received.ended > 0 {
		t.Errorf("%s: %s", b.name, b)
	}
}

func (b *burst) String() string {
	return fmt.Sprintf("the last list after %v, the last client told %v later, CPU %v, RSS %d MiB, "+
		"%d streams ended",
		b.took.Round(10*time.Millisecond), b.late.Round(10*time.Millisecond), b.used.cpu, b.used.rss,
		b.received.ended)
}
