package sim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"mcpd/gateway/auth"
	"mcpd/internal/fault"
	"mcpd/protocol/jsonrpc"
	"mcpd/transport/streamable"
)

// modelled is the expected state of a session.
type modelled struct {
	streamable.Session
	at   streamable.Endpoint
	used time.Time // the last use
	open bool
}

// sessions compares the map of sessions with a model: which sessions exist, when each was last
// used, and which session is evicted for which.
type sessions struct {
	*simulation
	all    []*modelled
	number int
	shaky  bool // a crash that affects sessions is imminent
}

// late is how much longer than its idle time a session may last.
const late = sessionIdle/60 + 2*time.Second

func (s *sessions) endpoint(t *rapid.T) streamable.Endpoint {
	return streamable.Endpoint{
		Tenant:    rapid.SampledFrom([]string{target, bystander}).Draw(t, "tenant"),
		Principal: auth.Anonymous,
	}
}

// opens opens a session. The target may have two: the least recently used one is evicted.
func (s *sessions) opens(t *rapid.T) {
	at := s.endpoint(t)
	s.number++
	k := (&simClient{s: s.simulation, name: "v" + strconv.Itoa(s.number), at: at}).begin("initialize",
		"", "")
	params := `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"v","version":"1"}}`
	got, err := s.host.Edge().Open(context.Background(), at,
		jsonrpc.Request(k.id, k.method, jsontext.Value(params)), k, nil)
	if err != nil {
		if !s.shaky {
			t.Fatalf("opened at %s: %v", at.Tenant, err)
		}
		s.settle(t)
		return
	}
	s.w.Wait(func() bool { return k.ended })
	if k.outcome.Error != nil && !s.shaky {
		t.Fatalf("initialize: %v", k.outcome.Error)
	}
	if _, err := s.host.Edge().Lookup(context.Background(), at, got.ID()); err != nil &&
		k.outcome.Error == nil {
		t.Fatalf("opened at %s, and there is none: %v", at.Tenant, err)
	}
	mine := slices.DeleteFunc(slices.Clone(s.all), func(m *modelled) bool {
		return !m.open || m.at != at
	})
	if at.Tenant == target && len(mine) >= 2 {
		slices.SortFunc(mine, func(a, b *modelled) int { return a.used.Compare(b.used) })
		mine[0].open = false
	}
	if k.outcome.Error != nil { // a session without a handshake does not last
		_ = got.Close(context.Background())
		return
	}
	if err := got.Deliver(context.Background(), jsonrpc.Notification("notifications/initialized", nil),
		nil); err != nil {
		t.Fatalf("initialized: %v", err)
	}
	s.all = append(s.all, &modelled{got, at, s.w.now, true})
}

// one picks one of the sessions that were ever opened.
func (s *sessions) one(t *rapid.T) *modelled {
	if len(s.all) == 0 {
		t.Skip("there is none")
	}
	return rapid.SampledFrom(s.all).Draw(t, "session")
}

func (s *sessions) closes(t *rapid.T) {
	m := s.one(t)
	if err := m.Close(context.Background()); err != nil {
		if !s.shaky {
			t.Fatalf("close: %v", err)
		}
		m.open = s.there(m)
		return
	}
	m.open = false
}

func (s *sessions) uses(t *rapid.T) {
	if m := s.one(t); m.open {
		m.Touch()
		m.used = s.w.now
	}
}

// crashes makes the manager or a session's actor crash at its next message.
func (s *sessions) crashes(t *rapid.T) {
	f := fault.Fault{
		Action: fault.Panic, Point: fault.Point{Place: fault.Receive, Path: "mcpd/core/session_manager"},
		Count: 1, Lease: time.Second,
	}
	if rapid.Bool().Draw(t, "a session") {
		f.Point.Path = "mcpd/tenants/" + target + "/server_sup/*"
	}
	if _, err := s.faults.Arm(f); err != nil {
		t.Fatal(err)
	}
	s.shaky = true
}

// mended is how long it takes until a crash has happened and the actor has been restarted.
const mended = 2 * time.Second

func (s *sessions) settle(*rapid.T) { s.rest(mended) }

func (s *sessions) waits(t *rapid.T) {
	s.rest(time.Duration(rapid.IntRange(1, int(sessionIdle/time.Second)).Draw(t,
		"seconds")) * time.Second)
}

func (s *sessions) rest(d time.Duration) {
	s.w.RunFor(d)
	s.shaky = s.shaky && d < mended
}

func (s *sessions) there(m *modelled) bool {
	_, err := s.host.Edge().Lookup(context.Background(), m.at, m.ID())
	return !errors.Is(err, streamable.ErrNoSession)
}

// check compares the existing sessions with the expected ones.
func (s *sessions) check(t *rapid.T) {
	for i, m := range s.all {
		there, unused := s.there(m), s.w.now.Sub(m.used)
		switch {
		case !m.open && there:
			t.Fatalf("session %d at %s has ended, and is there", i, m.at.Tenant)
		case m.open && !there && unused < sessionIdle:
			t.Fatalf("session %d at %s is open, used %v ago, and is not there", i, m.at.Tenant, unused)
		case m.open && there && unused > sessionIdle+late && !s.shaky:
			t.Fatalf("session %d at %s is there, used %v ago", i, m.at.Tenant, unused)
		}
		m.open = there
		elsewhere := m.at
		if elsewhere.Tenant = target; m.at.Tenant == target {
			elsewhere.Tenant = bystander
		}
		if _, err := s.host.Edge().Lookup(context.Background(), elsewhere, m.ID()); !errors.Is(err,
			streamable.ErrNoSession) {
			t.Fatalf("session %d of %s is found at %s", i, m.at.Tenant, elsewhere.Tenant)
		}
	}
	s.w.RunFor(time.Millisecond) // no two things happen at the same time
}

// The map of sessions equals its model, whatever is opened, used, left idle and closed, and
// whatever crashes meanwhile.
func TestSessionsAreAsTheirModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &sessions{simulation: newStory(rapid.Uint64().Draw(t, "seed"), Options{}, NewTrace(nil))}
		s.plan.tight, s.coreBroken = true, true // crashes here are no findings
		if err := s.start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = s.host.Stop(context.Background())
			s.w.Close()
		}()
		t.Repeat(map[string]func(*rapid.T){
			"open": s.opens, "close": s.closes, "use": s.uses, "crash": s.crashes, "settle": s.settle,
			"wait": s.waits, "": s.check,
		})
		for _, f := range s.result.Findings {
			t.Error(f)
		}
	})
}
