package supervisor

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/tenancy"
	"mcpd/actors/version"
	"mcpd/gateway/config"
	"mcpd/gateway/ladder"
	"mcpd/internal/fault"
	"mcpd/protocol"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry/admin"
)

// logged is a log that a test reads.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(label string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), label)
}

var someTenants = `
listen: 127.0.0.1:0
admin: {listen: "127.0.0.1:0"}
tenants:
  acme:
    auth: {keys: [{name: a, sha256: ` + strings.Repeat("ab", 32) + `}]}
    servers: {near: {builtin: demo}}
  globex:
    auth: {keys: [{name: a, sha256: ` + strings.Repeat("cd", 32) + `}]}
    servers: {near: {builtin: demo}}
  initech:
    auth: {keys: [{name: a, sha256: ` + strings.Repeat("ef", 32) + `}]}
    servers: {near: {builtin: demo}}
`

// begins starts a host with three tenants on a state directory, and ends it when f returns.
func begins(t *testing.T, state string, faults *fault.Registry, f func(h *host, log *logged)) {
	t.Helper()
	c, err := config.Load([]byte(someTenants), config.Options{Builtins: Builtins})
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, err := Start(ctx, c, Options{
		Logger: slog.New(slog.NewJSONHandler(log, nil)), State: state, Faults: faults,
	})
	if err != nil {
		t.Fatalf("the host does not start: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }() // owner: this function, which waits below
	f(r.h, log)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// check returns one of the readiness checks.
func (h *host) check(name string) admin.Check {
	checks := h.health().Checks
	i := slices.IndexFunc(checks, func(c admin.Check) bool { return c.Name == name })
	return checks[i]
}

func soon(t *testing.T, label string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not %s within 10 s", label)
		}
	}
}

// A stored record that crashes the row which reads it is set aside and reported, whatever its kind.
// The host starts, and restores the records of the other tenant. The next host starts without a
// trace of the record.
func TestStoredRecordThatCrashesIsSetAside(t *testing.T) {
	const id, other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
	session := func(tenant string) jsontext.Value {
		return jsontext.Value(`{"tenant":"` + tenant + `","principal":"a","opened":"` +
			time.Now().Format(time.RFC3339) +
			`","version":"2025-11-25","capabilities":{},"offered":{},"client":{"name":"c","version":"1"},"ready":true}`)
	}
	records := []struct{ kind, key, tenant, value string }{
		{"session", id, "acme", string(session("acme"))},
		{"tenant", "acme", "acme", `{"state":"running","times":1}`},
		{"list", "near x", "acme", `{}`},
		{"quarantine", "acme/near", "acme", `{}`},
		{"task", "some", "acme", `{}`},
	}
	buckets := map[string]store.Bucket{
		"session": store.Sessions, "tenant": store.Tenants, "list": store.Lists("acme"),
		"quarantine": store.Quarantines, "task": store.Tasks("acme"),
	}
	for _, r := range records {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _, err := store.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Apply([]store.Change{
				{Bucket: buckets[r.kind], Key: r.key, Value: jsontext.Value(r.value)},
				{Bucket: store.Sessions, Key: other, Value: session("globex")},
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			faults := fault.New(nil)
			if _, err := faults.Arm(fault.Fault{
				Action: fault.Panic, Point: fault.Point{Place: fault.StoreRead, Who: fault.Who{Tenant: "acme"}},
				Lease: time.Minute,
			}); err != nil {
				t.Fatal(err)
			}
			begins(t, dir, faults, func(h *host, log *logged) {
				if r.kind == "tenant" { // it was in trouble of unknown degree
					if s := h.standing.Of("acme"); s.Runs() {
						t.Errorf("acme stands as %+v, want quarantined", s)
					}
					if _, err := h.operateTenant(t.Context(), "acme", "release"); err != nil {
						t.Error(err)
					}
				}
				soon(t, "reported", func() bool { return log.count(`"record_set_aside"`) > 0 })
				if n := log.count(`"record_set_aside"`); n != 1 || log.count(`"tenant":"acme"`) == 0 {
					t.Errorf("reported %d times, or not as acme's", n)
				}
				if log.count(id) > 0 {
					t.Error("a session's id is in the log")
				}
				if word := h.health().Status(); word != "degraded" ||
					!strings.Contains(h.check("stored_records").Detail, r.kind) {
					t.Errorf("readiness: %s, %+v", word, h.check("stored_records"))
				}
				if _, ok := h.index.Get(other); !ok {
					t.Error("globex has lost its session")
				}
				if _, ok := h.index.Get(id); ok {
					t.Error("the session that crashes is taken over")
				}
				soon(t, "running", func() bool {
					_, err := h.system.Whereis("mcpd/tenants/acme/server_sup")
					return err && h.check("components").OK
				})
			})
			begins(t, dir, nil, func(h *host, log *logged) {
				if c := h.check("stored_records"); !c.OK || log.count("record_set_aside") > 0 {
					t.Errorf("the next host: %+v", c)
				}
				n := 0
				for key := range h.stored(store.Aside) {
					if n++; key != string(buckets[r.kind])+" "+r.key {
						t.Errorf("aside: %q", key)
					}
				}
				if n != 1 {
					t.Errorf("%d records are kept aside", n)
				}
			})
		})
	}
}

// A shared row that does not start, whatever the cause, is missing only until it does. The host
// starts without it.
func TestSharedRowThatCrashesAtTheStartIsStartedAgain(t *testing.T) {
	for _, row := range []string{
		"storage", "memory", "protocol_version", "capabilities", "session_manager", "process_manager",
		"tenant_manager", "configuration",
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			faults := fault.New(nil)
			if _, err := faults.Arm(fault.Fault{
				Action: fault.Panic, Point: fault.Point{Place: fault.Init, Path: "mcpd/core/" + row}, Count: 1,
				Lease: time.Minute,
			}); err != nil {
				t.Fatal(err)
			}
			begins(t, t.TempDir(), faults, func(h *host, _ *logged) {
				if word := h.health().Status(); word != "degraded" ||
					!strings.Contains(h.check("components").Detail, row) {
					t.Errorf("readiness: %s, %+v", word, h.check("components"))
				}
				soon(t, "started", func() bool { return h.core(row).Alive() })
			})
		})
	}
}

// A shared row that is stuck at a message, or was paused and is tried again, makes the host
// degraded. So does a tenant that is started again.
func TestReadinessTellsOfRowsInTrouble(t *testing.T) {
	faults := fault.New(nil)
	begins(t, "", faults, func(h *host, _ *logged) {
		degraded := func(check, detail string) bool {
			return h.health().Status() == "degraded" && strings.Contains(h.check(check).Detail, detail)
		}
		id, err := faults.Arm(fault.Fault{
			Action: fault.Hang, Point: fault.Point{Path: "mcpd/core/capabilities"}, Count: 1,
			Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = h.core("capabilities").Send(struct{}{})
		soon(t, "degraded", func() bool {
			return degraded("components", "stuck at one message: core/capabilities")
		})
		faults.Disarm(id)
		soon(t, "ready", func() bool { return h.health().Status() == "ready" })

		if _, err := faults.Arm(fault.Fault{Action: fault.Panic,
			Point: fault.Point{Path: "mcpd/core/capabilities"}, Count: 6, Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for range 6 {
			_ = h.core("capabilities").Send(struct{}{})
		}
		soon(t, "degraded", func() bool {
			return degraded("components", "paused, because it ends too often: core/capabilities")
		})
		soon(t, "started again", func() bool { return h.core("capabilities").Alive() })
		if !degraded("components", "not stable yet: core/capabilities") {
			t.Errorf("tried again, it is %s: %+v", h.health().Status(), h.check("components"))
		}

		s := h.standing.Of("acme")
		s, _ = ladder.Step(s, h.awake.Now(), ladder.Ended{Why: ladder.Why{Incident: "abcdefgh"}})
		s, _ = ladder.Step(s, h.awake.Now().Add(ladder.FirstPause), ladder.Passed{})
		h.standing.Set("acme", s)
		if c := h.check("tenant_state"); c.OK ||
			!strings.Contains(c.Detail, "acme is started again (ends in a row: 1), incident abcdefgh") {
			t.Errorf("a tenant that is started again: %+v", c)
		}
	})
}

// Messages of three tenants crash a shared row within a minute, so the row itself is at fault. It
// is paused, for longer if it continues, and the host is degraded. No tenant is paused for it.
func TestSharedRowThatIsAtFaultItselfIsPaused(t *testing.T) {
	const row = "mcpd/core/protocol_version"
	faults := fault.New(nil)
	begins(t, "", faults, func(h *host, log *logged) {
		if _, err := faults.Arm(fault.Fault{Action: fault.Panic, Point: fault.Point{Path: row},
			Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		crash := func(tenant string) {
			t.Helper()
			soon(t, "there", func() bool { return h.core("protocol_version").Alive() })
			_, err := otp.Do[version.NegotiateRequest, protocol.Agreement](t.Context(),
				h.core("protocol_version"), version.NegotiateRequest{Tenant: tenant})
			if err == nil {
				t.Error("it does not crash")
			}
		}
		for _, tenant := range h.tenantNames() {
			crash(tenant)
		}
		is := func(label string, times int) {
			t.Helper()
			soon(t, label, func() bool { return log.count(`"child_paused"`) == times })
			if word := h.health().Status(); word != "degraded" ||
				!strings.Contains(h.check("components").Detail, "core/protocol_version") {
				t.Errorf("%s: %s, %+v", label, word, h.check("components"))
			}
		}
		is("paused", 1)
		crash("acme")
		is("paused again", 2)
		if n := log.count(`"retry":"2s"`) + log.count(`"retry":2000`); n == 0 {
			t.Error("the second pause is not longer")
		}
		for _, tenant := range h.tenantNames() {
			if s := h.standing.Of(tenant); !s.Clean() {
				t.Errorf("%s stands as %+v", tenant, s)
			}
		}
		if n := log.count(`"crash_charged"`); n != 2 {
			t.Errorf("%d crashes are charged to tenants, want those of the first two", n)
		}
		for _, n := range h.snapshot().Children {
			if n.Restarts != 0 {
				t.Errorf("%s was restarted %d times", n.Path, n.Restarts)
			}
		}
	})
}

// The tenant manager crashes repeatedly on its work for one tenant, and stops working for that
// tenant for a while. Commands of an operator still work.
func TestOperatorIsHeardWhateverATenantDoes(t *testing.T) {
	faults := fault.New(nil)
	begins(t, "", faults, func(h *host, log *logged) {
		id, err := faults.Arm(fault.Fault{
			Action: fault.Panic,
			Point:  fault.Point{Path: "mcpd/core/tenant_manager", Who: fault.Who{Tenant: "acme"}},
			Lease:  time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		at := h.core("tenant_manager")
		soon(t, "crashed often enough", func() bool {
			_ = at.Send(tenancy.Started{Tenant: "acme"})
			return at.Incarnation() > otp.MaxChargedCrashes
		})
		for range ladder.MaxCharges { // held back, like all messages of acme
			h.charge(otp.CrashCharged{
				Row: otp.Row{Path: "mcpd/core/storage", At: h.awake.Now()}, Origin: "acme",
			})
		}
		faults.Disarm(id)
		for _, verb := range []string{"quarantine", "release", "restart"} {
			if _, err := h.operateTenant(t.Context(), "acme", verb); err != nil {
				t.Errorf("%s: %v", verb, err)
			}
			time.Sleep(50 * time.Millisecond) // let the held messages be handled
			if s := h.standing.Of("acme"); s.Runs() != (verb != "quarantine") {
				t.Errorf("after %s acme stands as %+v", verb, s)
			}
		}
		soon(t, "running", func() bool {
			ref, ok := h.system.Whereis("mcpd/tenants/acme/catalog")
			return ok && ref.Alive()
		})
		for _, tenant := range h.tenantNames() {
			if s := h.standing.Of(tenant); !s.Runs() {
				t.Errorf("%s stands as %+v", tenant, s)
			}
		}
		if n := log.count(`"child_paused"`); n != 0 {
			t.Errorf("the tenant manager is paused %d times", n)
		}
	})
}

// An operator whose decision is not confirmed in time learns which components did not respond.
func TestOperatorHearsThatADecisionIsNotConfirmed(t *testing.T) {
	faults := fault.New(nil)
	begins(t, "", faults, func(h *host, _ *logged) {
		_, err := faults.Arm(fault.Fault{
			Action: fault.Hang, Point: fault.Point{Path: "mcpd/core/tenant_manager"},
			Delay: 20 * time.Second, Count: 1, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = h.core("tenant_manager").Send(tenancy.Started{Tenant: "acme"})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := h.operateTenant(ctx, "acme", "quarantine"); err == nil ||
			!strings.Contains(err.Error(), "core/tenant_manager") {
			t.Errorf("got %v", err)
		}
		faults.DisarmRun("")
	})
}
