package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpd/chaos/faults"
	"mcpd/telemetry/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. The awaited events take milliseconds; the margin is for a busy
// machine.
const patience = 20 * time.Second

// host implements the part of an admin listener that an operator needs.
type host struct {
	mu      sync.Mutex // guards the fields below
	asked   []string   // method, path and body of every request
	events  []string   // all events of the host; a stream ends after the last
	faults  string     // the list of armed faults
	tenants string     // the list of tenants and their states
	trees   []string   // the tree at each request; the last one repeats
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	switch {
	case r.Header.Get("Authorization") != "Bearer token":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/admin/v1/tree":
		io.WriteString(w, h.trees[0])
		h.trees = h.trees[min(1, len(h.trees)-1):]
	case r.URL.Path == "/admin/v1/tenants":
		io.WriteString(w, `{"tenants":[`+h.tenants+`]}`)
	case r.URL.Path == "/admin/v1/faults" && r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"f1"}`)
	case r.URL.Path == "/admin/v1/faults":
		io.WriteString(w, `{"faults":[`+h.faults+`]}`)
	case strings.HasSuffix(r.URL.Path, "/f9/renew"), strings.HasSuffix(r.URL.Path, "/f9"):
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":"no such fault is armed","hint":"arm another"}`)
	case r.URL.Path == "/admin/v1/events" && r.URL.Query().Get("watch") == "1":
		after := 0
		fmt.Sscan(r.URL.Query().Get("after"), &after)
		for i := after; i < len(h.events); i++ {
			fmt.Fprintf(w, "event: event\nid: %d\ndata: %s\n\n", i+1, h.event(i))
		}
	case r.URL.Path == "/admin/v1/events":
		var list []string
		for i := range h.events {
			list = append(list, h.event(i))
		}
		io.WriteString(w, `{"events":[`+strings.Join(list, ",")+`]}`)
	}
}

func (h *host) event(i int) string { return fmt.Sprintf(`{"id":"%d",%s}`, i+1, h.events[i]) }

func (h *host) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *host) count(prefix string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.asked {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func operate(t *testing.T, h *host) *operator {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return newOperator(Options{Admin: s.URL, Token: func(admin.Scope) (string, error) {
		return "token", nil
	}, AllowProduction: true}, "trial-1")
}

func eventually(t *testing.T, label string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", patience, label)
		}
	}
}

// Two simultaneous runs would each measure the faults of the other. A fault that no run has armed
// was armed by an operator on purpose.
func TestAHostIsNotBrokenByTwoRuns(t *testing.T) {
	h := &host{}
	p := operate(t, h)
	for list, want := range map[string]string{
		"": "", `{"id":"f1","run":"trial-1"}`: "", `{"id":"f1"}`: "",
		`{"id":"f1","run":"trial-1"},{"id":"f2","run":"other-7","expires":"2026-01-01T00:00:09Z"}`: "another run breaks this host: other-7 has armed f2, until 2026-01-01T00:00:09Z at least",
	} {
		h.set(func() { h.faults = list })
		if err := p.checkNoOtherRun(t.Context()); want == "" && err != nil ||
			want != "" && (!errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// Armed faults carry the name of the run. Their leases are renewed until they are disarmed. A fault
// that is used up is not an error.
func TestLeasesAreRenewedUntilAFaultEnds(t *testing.T) {
	h := &host{}
	p := operate(t, h)
	ctx, stop := context.WithCancel(t.Context())
	var renewing sync.WaitGroup
	renewing.Go(func() { p.renew(ctx) })
	defer renewing.Wait()
	defer stop()

	id, err := p.Arm(ctx, faults.ArmRequest{
		Action: "hang", Path: "mcpd/core/x", Lease: 600 * time.Millisecond, Delay: time.Minute,
		Seed: 1 << 63,
	})
	if err != nil || id != "f1" {
		t.Fatal(id, err)
	}
	want := `POST /admin/v1/faults {"action":"hang","path":"mcpd/core/x","lease":"0.600000000s","seed":"9223372036854775808","delay":"60.000000000s","run":"trial-1","meant":true}`
	if h.count(want) != 1 {
		t.Errorf("asked %v, want %s", h.asked, want)
	}
	p.mu.Lock()
	p.leases["f9"] = 600 * time.Millisecond // has ended
	p.mu.Unlock()
	eventually(t, "renewed", func() bool {
		return h.count(`POST /admin/v1/faults/f1/renew {"lease":"0.600000000s"}`) >= 3
	})
	if n := h.count("POST /admin/v1/faults/f9/renew"); n != 1 {
		t.Errorf("a fault that has ended was renewed %d times", n)
	}
	for _, id := range []string{"f1", "f9"} {
		if err := p.Disarm(ctx, id); err != nil {
			t.Error(err)
		}
	}
	if !p.mayHaveArmed() || p.disarmAll(ctx) != nil || p.mayHaveArmed() ||
		h.count("DELETE /admin/v1/faults?run=trial-1") != 1 {
		t.Errorf("asked %v", h.asked)
	}
}

func TestRefusalsSayWhatTheHostSays(t *testing.T) {
	h := &host{}
	p := operate(t, h)
	_, err := p.ask(t.Context(), http.MethodPost, "/admin/v1/faults/f9/renew", admin.Chaos, nil)
	if err == nil || err.Error() != "no such fault is armed: arm another" ||
		Status(err) != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	p.token = func(admin.Scope) (string, error) { return "another", nil }
	if _, err := p.Tree(t.Context()); Status(err) != http.StatusUnauthorized {
		t.Errorf("%v", err)
	}
}

// The list gives the hits of an armed fault, and the last event of a fault gives its hits
// afterwards.
func TestStruckAlsoWhenItIsUsedUp(t *testing.T) {
	h := &host{faults: `{"id":"f1","hits":3}`}
	p := operate(t, h)
	if n, err := p.Struck(t.Context(), "f1"); n != 3 || err != nil {
		t.Error(n, err)
	}
	h.set(func() { h.faults = "" })
	p.feed.add(event{
		ID: "1", Name: "fault_disarmed", Fields: map[string]string{"fault": "f1", "hits": "5"},
	})
	if n, err := p.Struck(t.Context(), "f1"); n != 5 || err != nil {
		t.Error(n, err)
	}
	if n, err := p.Struck(t.Context(), "f2"); err == nil {
		t.Error("of one that nobody knows", n)
	}
}

// Every event since the beginning is read once, even if the stream breaks. The event ids of a
// restarted host begin at one again.
func TestEveryEventIsReadOnce(t *testing.T) {
	h := &host{events: []string{`"name":"before"`}}
	p := operate(t, h)
	if err := p.feed.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { p.feed.follow(ctx) })
	defer following.Wait()
	defer stop()
	var want []string
	seen := func() bool {
		list, _, _ := p.feed.records(time.Time{})
		var names []string
		for _, e := range list {
			names = append(names, e.Name)
		}
		return slices.Equal(names, want)
	}
	for _, name := range []string{"a", "b", "c"} {
		want = append(want, name)
		h.set(func() { h.events = append(h.events, `"name":"`+name+`"`) })
		eventually(t, "read: "+name, seen)
	}
	want = append(want, "of another host")
	h.set(func() { h.events = []string{`"name":"of another host"`} })
	eventually(t, "read after a restart", seen)
}
