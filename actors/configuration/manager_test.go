package configuration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpd/actors/catalog"
	"mcpd/actors/configuration"
	"mcpd/actors/internal/testrig"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/gateway/config"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a host of which only the configuration manager is real: tenants, their catalogues and the
// session manager record their messages.
type rig struct {
	*testrig.Rig
	catalog, sessions testrig.Box
	now               atomic.Pointer[config.Config]
	applied           atomic.Pointer[configuration.Applied]
	text              atomic.Pointer[string] // of the file
	open              atomic.Int32           // sessions of each tenant
	loads             atomic.Int32
	log               log
	slow              chan struct{} // if set, the file is read only after it is closed
}

func (r *rig) load() (*config.Config, string, error) {
	if r.slow != nil {
		<-r.slow
	}
	text := *r.text.Load()
	if r.slow != nil { // each time another
		text += fmt.Sprintf("limits: {call_timeout: %ds}\n", r.loads.Add(1))
	}
	c, err := config.Load([]byte(text), config.Options{File: "file.yaml", Builtins: []string{"demo"}})
	return c, "file.yaml", err
}

func run(t *testing.T, text string, test func(r *rig)) {
	t.Helper()
	r := &rig{}
	r.catalog.On = answer
	r.sessions.On = answer
	r.text.Store(&text)
	testrig.Run(t, func(s *testrig.Rig) []otp.Child {
		r.Rig = s
		c, _, err := r.load()
		if err != nil {
			t.Fatal(err)
		}
		r.now.Store(c)
		r.applied.Store(&configuration.Applied{Generation: 1, Digest: c.Digest(), At: time.Now()})
		tenant := func(name string) otp.Child {
			return otp.Child{
				ID: name, Start: otp.Supervisor(otp.Spec{Children: []otp.Child{r.catalog.Child("catalog")}}),
			}
		}
		at := func(row string) otp.Ref { ref, _ := s.System.Whereis("top/" + row); return ref }
		o := configuration.Options{
			Load: r.load,
			Now: func() (*config.Config, configuration.Applied) {
				return r.now.Load(), *r.applied.Load()
			},
			Apply:   func(c *config.Config, a configuration.Applied) { r.now.Store(c); r.applied.Store(&a) },
			Storage: func() otp.Ref { return at("storage") },
			Tenants: func() otp.Ref { return at("tenants") }, Tenant: tenant,
			Catalog: func(name string) otp.Ref { return at("tenants/" + name + "/catalog") },
			Sessions: func() otp.Ref {
				return at("sessions")
			}, Open: func(string) int { return int(r.open.Load()) }, Emit: s.Events.Emit,
		}
		return []otp.Child{
			{ID: "storage", Start: otp.Worker(func() otp.Behaviour {
				return storage.New(storage.Options{Store: &r.log, Emit: s.Events.Emit})
			})},
			r.sessions.Child("sessions"), {ID: "configuration", Start: otp.Worker(func() otp.Behaviour {
				return configuration.New(o)
			})},
			{ID: "tenants", Start: otp.SupervisorFunc(func() otp.Spec {
				spec := otp.Spec{}
				for _, t := range r.now.Load().Tenants {
					spec.Children = append(spec.Children, tenant(t.Name))
				}
				return spec
			})},
		}
	}, func(*testrig.Rig) { test(r) })
}

func answer(msg any) {
	switch m := msg.(type) {
	case *catalog.Reload:
		m.Reply(struct{}{})
	case *session.Reload:
		m.Reply(struct{}{})
	}
}

// file writes tenants, each with a server.
func file(tenants ...string) string {
	text := "tenants:\n"
	for _, t := range tenants {
		text += "  " + t + ": {servers: {demo: {builtin: demo}}}\n"
	}
	return text
}

func (r *rig) reload(text string) (*configuration.Report, error) {
	r.T.Helper()
	r.text.Store(&text)
	return testrig.Ask[configuration.ReloadRequest, *configuration.Report](r.Rig, "configuration",
		configuration.ReloadRequest{})
}

func (r *rig) runs(tenant string) bool {
	ref, ok := r.System.Whereis("top/tenants/" + tenant)
	return ok && ref.Alive()
}

// Tenants are added, and removed when their sessions have ended. Catalogues are told before
// sessions are, and only those whose servers changed.
func TestReloadAppliesAsAWhole(t *testing.T) {
	run(t, file("acme", "beta"), func(r *rig) {
		r.open.Store(1)
		got, err := r.reload(file("acme", "gamma") +
			"  beta: {servers: {demo: {builtin: demo}, more: {builtin: demo}}}\nlimits: {call_timeout: " +
			"10s}\n")
		if err != nil || got.Generation != 2 || len(got.Changes) != 3 {
			t.Fatalf("report: %+v, %v", got, err)
		}
		if !r.runs("gamma") {
			t.Error("the new tenant does not run")
		}
		if told := testrig.Of[*session.Reload](&r.sessions.Log); len(told) != 1 ||
			len(told[0].Req.Changed) != 1 || !told[0].Req.Changed["beta"] {
			t.Errorf("sessions were told %d times", len(told))
		}
		if told := testrig.Of[*catalog.Reload](&r.catalog.Log); len(told) != 1 {
			t.Errorf("%d catalogues were told", len(told))
		}
		if _, err = r.reload(file("acme", "beta")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r.WaitIdle()
		if !r.runs("gamma") {
			t.Error("a tenant was stopped that has sessions")
		}
		r.open.Store(0)
		time.Sleep(time.Second)
		r.WaitIdle()
		if r.runs("gamma") || !r.runs("beta") {
			t.Errorf("runs: gamma %v, beta %v", r.runs("gamma"), r.runs("beta"))
		}
		loaded := testrig.Of[telemetry.ConfigLoaded](&r.Events)
		if len(loaded) != 2 || loaded[1].Generation != 3 ||
			!strings.Contains(loaded[1].Changes, "tenants.gamma: removed") {
			t.Errorf("events: %+v", loaded)
		}
	})
}

// A tenant that is configured again before it is gone stays, with its sessions. One that is being
// stopped is started again.
func TestTenantThatComesBack(t *testing.T) {
	run(t, file("acme", "beta"), func(r *rig) {
		before, _ := r.System.Whereis("top/tenants/beta/catalog")
		r.open.Store(1)
		for _, text := range []string{file("acme"), file("acme", "beta")} {
			if _, err := r.reload(text); err != nil {
				t.Fatal(err)
			}
		}
		r.open.Store(0)
		time.Sleep(time.Minute)
		r.WaitIdle()
		if after, _ := r.System.Whereis("top/tenants/beta/catalog"); after != before || !after.Alive() {
			t.Error("it was started anew")
		}
		if _, err := r.reload(file("acme")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := r.reload(file("acme", "beta")); err != nil || !r.runs("beta") {
			t.Errorf("it runs %v, %v", r.runs("beta"), err)
		}
	})
}

// A mistake in a file is reported, and nothing else happens.
func TestMistakeChangesNothing(t *testing.T) {
	run(t, file("acme"), func(r *rig) {
		before := r.now.Load()
		_, err := r.reload("tenants: {acme: {serverz: {}}}")
		var wrong config.Problems
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "file.yaml:1:") {
			t.Errorf("error: %v", err)
		}
		if r.now.Load() != before || r.applied.Load().Generation != 1 ||
			len(testrig.Of[*session.Reload](&r.sessions.Log)) != 0 {
			t.Error("something has changed")
		}
		if e := testrig.Of[telemetry.ConfigRejected](&r.Events); len(e) != 1 || e[0].Generation != 1 ||
			!strings.Contains(e[0].Reason, "serverz") {
			t.Errorf("events: %+v", e)
		}
		if _, err := r.reload(file("acme", "beta")); err != nil {
			t.Errorf("the next: %v", err)
		}
	})
}

// Concurrent reloads run one after the other, up to a bound. A file that cannot be read ends its
// reload in time.
func TestReloadsAreMadeOneAfterTheOther(t *testing.T) {
	run(t, file("acme"), func(r *rig) {
		r.slow = make(chan struct{})
		ref := r.Ref("configuration")
		answers := make(chan string, 100)
		for range configuration.MaxWaiting + 2 {
			go func() { // ends with its reply
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				got, err := otp.Do[configuration.ReloadRequest, *configuration.Report](ctx,
					ref, configuration.ReloadRequest{})
				if err != nil {
					answers <- "refused"
					return
				}
				answers <- fmt.Sprint(got.Generation)
			}()
		}
		r.WaitIdle()
		if got := <-answers; got != "refused" || len(answers) != 0 {
			t.Errorf("one too many: %s, and %d more", got, len(answers))
		}
		time.Sleep(configuration.LoadTime + time.Second)
		r.WaitIdle()
		if got := <-answers; got != "refused" {
			t.Errorf("a file that is not read: %s", got)
		}
		close(r.slow)
		var got []string
		for range configuration.MaxWaiting {
			got = append(got, <-answers)
		}
		slices.Sort(got)
		if slices.Contains(got, "refused") || len(slices.Compact(got)) != configuration.MaxWaiting {
			t.Errorf("generations: %v", got)
		}
	})
}

// A reload that a crash interrupts is made again, and all actors are told.
func TestReloadOutlivesACrash(t *testing.T) {
	for _, kind := range []string{"configuration.loaded", "configuration.settled",
		"configuration.told"} {
		t.Run(kind, func(t *testing.T) {
			run(t, file("acme"), func(r *rig) {
				r.Break("configuration", kind)
				got, err := r.reload("tenants: {acme: {servers: {demo: {builtin: demo}, more: {builtin: " +
					"demo}}}, beta: {servers: {demo: {builtin: demo}}}}")
				r.Struck()
				if err != nil || !r.runs("beta") || len(r.now.Load().Tenants) != 2 {
					t.Fatalf("report: %+v, %v", got, err)
				}
				told := testrig.Of[*session.Reload](&r.sessions.Log)
				if len(told) == 0 || !told[len(told)-1].Req.Changed["acme"] {
					t.Errorf("sessions were told %d times", len(told))
				}
			})
		})
	}
}
