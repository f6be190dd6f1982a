package sim

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/session"
	"mcpd/protocol/jsonedit"
	"mcpd/transport/streamable"
)

// known is everything that clients had been told when a host was killed.
type known struct {
	sessions []string // by their secret ids
	at       map[string]streamable.Endpoint
	tasks    map[string]*simClient // the client that follows each task, by task id
}

// disk returns a directory in memory, where syncing to disk costs nothing, if there is one.
func disk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mcpd-sim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// killed runs a host to its end, and at a random moment takes a copy of its disk and of the
// knowledge of its clients.
func killed(t *testing.T, seed uint64) (left string, k known) {
	t.Helper()
	at := disk(t)
	left = at + "/left"
	if err := os.Mkdir(at+"/state", 0o700); err != nil {
		t.Fatal(err)
	}
	r := Run(seed, Options{state: at + "/state", corrupt: func(s *simulation) {
		// the state of a tenant that is down also survives the host
		s.plan.panics, s.plan.ends, s.plan.operates = 0, 0, 0
		s.w.AfterFunc(time.Duration(s.w.rand.Int64N(int64(2*time.Second))), func() {
			if err := os.CopyFS(left, os.DirFS(at+"/state")); err != nil {
				t.Error(err)
			}
			k = s.known()
		})
	}})
	for _, f := range r.Findings {
		t.Errorf("seed %d: %v", seed, f)
	}
	return left, k
}

// known returns what clients know now.
func (s *simulation) known() known {
	k := known{at: map[string]streamable.Endpoint{}, tasks: map[string]*simClient{}}
	for _, c := range s.visitors {
		for _, id := range c.taskIDs {
			k.tasks[id] = c
		}
		greeted := slices.ContainsFunc(c.calls, func(k *call) bool {
			return k.method == "initialize" && len(k.outcome.Result) > 0
		})
		// a channel of its own ends with the host
		if h, ok := c.opened.(*session.Handle); ok && greeted && !c.leaving && !c.evictable() &&
			h.Streamed() {
			k.at[h.ID()] = c.at
		}
	}
	k.sessions = slices.Sorted(maps.Keys(k.at))
	return k
}

// Everything that clients have been told survives a kill of the host at any moment: the next host
// has every session and every task.
func TestWhatWasAcknowledgedOutlivesTheHost(t *testing.T) {
	var sessions, jobs int
	for seed := range uint64(60) {
		left, k := killed(t, seed)
		s := newStory(seed+1_000_000, Options{state: left}, NewTrace(nil))
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		for _, id := range k.sessions {
			sessions++
			if _, err := s.host.Edge().Lookup(context.Background(), k.at[id], id); err != nil {
				t.Errorf("seed %d: a session that its client knew is gone: %v", seed, err)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(k.tasks)) {
			jobs++
			if look := s.asks(k.tasks[id], id); look == nil {
				t.Errorf("seed %d: a task that its client knew is gone", seed)
			}
		}
		if err := s.host.Stop(context.Background()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if t.Logf("%d sessions, %d tasks", sessions, jobs); sessions == 0 || jobs == 0 {
		t.Error("there were none")
	}
}

// asks gets a task as its client would.
func (s *simulation) asks(as *simClient, id string) jsontext.Value {
	c := newVisitor(s, as.at.Tenant, 0)
	// until it speaks the revision that has tasks
	for c.modern, c.capabilities, c.tasks = as.modern, as.capabilities, as.modern; !c.tasks; {
		c.open()
	}
	return c.ask(c.begin("tasks/get", "", ""), `{"taskId":`+string(jsonedit.Quote(id))+`}`)
}
