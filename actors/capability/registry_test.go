package capability_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/capability"
	"mcpd/supervisor/otp"
)

// watcher is a row that records the messages for subscribers.
type watcher struct {
	otp.Base
	changes chan capability.Changed
}

func (w watcher) Receive(_ *otp.Process, msg any) error {
	if m, ok := msg.(capability.Changed); ok {
		w.changes <- m
	}
	return nil
}

// rig is a registry and a row that may subscribe to it.
type rig struct {
	t       *testing.T
	ref     otp.Ref
	watch   otp.Ref
	changes chan capability.Changed
}

func start(t *testing.T) *rig {
	t.Helper()
	system := otp.NewSystem(otp.Options{})
	r := &rig{t: t, changes: make(chan capability.Changed, 8)}
	tree, err := system.Start(t.Context(), "top", otp.Spec{Children: []otp.Child{
		{ID: "capabilities", Start: otp.Worker(func() otp.Behaviour { return capability.New() })},
		{ID: "watcher", Start: otp.Worker(func() otp.Behaviour { return watcher{changes: r.changes} })},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = tree.Shutdown(context.Background())
		system.Close()
	})
	r.ref, _ = system.Whereis("top/capabilities")
	r.watch, _ = system.Whereis("top/watcher")
	return r
}

func do[Req, Resp any](r *rig, req Req) (Resp, error) {
	return otp.Do[Req, Resp](r.t.Context(), r.ref, req)
}

// S4-22: the last declaration of a server is returned byte for byte. A server without a declaration
// is not found.
func TestDiscoverTellsWhatAServerDeclared(t *testing.T) {
	r := start(t)
	acme := capability.DiscoverRequest{Tenant: "acme", Server: "files"}
	if _, err := do[capability.DiscoverRequest, jsontext.Value](r, acme); !errors.Is(err,
		capability.ErrNotFound) {
		t.Errorf("before: got %v, want not found", err)
	}
	for _, caps := range []string{`{"tools":{}}`, `{"tools": {"listChanged" :true}, "x-own":[1]}`} {
		if err := r.ref.Send(&capability.Declared{Tenant: "acme", Server: "files",
			Capabilities: jsontext.Value(caps)}); err != nil {
			t.Fatal(err)
		}
		if got, err := do[capability.DiscoverRequest, jsontext.Value](r, acme); err != nil ||
			string(got) != caps {
			t.Errorf("got %s, %v, want %s", got, err, caps)
		}
	}
	other := capability.DiscoverRequest{Tenant: "globex", Server: "files"}
	if _, err := do[capability.DiscoverRequest, jsontext.Value](r, other); !errors.Is(err,
		capability.ErrNotFound) {
		t.Errorf("another tenant's server of that name: got %v, want not found", err)
	}
}

// S4-21, S4-23, S4-30: every capability that a revision names can be queried while sessions run.
func TestQueryDescribesACapability(t *testing.T) {
	r := start(t)
	got, err := do[string, capability.Info](r, "resources")
	if err != nil || got.Name != "resources" || got.Side != "server" ||
		fmt.Sprint(got.Flags) != "[subscribe listChanged]" || !got.Enabled || got.Version == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := do[string, capability.Info](r, "telepathy"); !errors.Is(err, capability.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
}

// S4-24, S4-25, S4-33: a subscriber gets every change once, and nothing if nothing changed.
func TestSubscribersHearOfChanges(t *testing.T) {
	r := start(t)
	for range 2 { // subscribing twice is the same as once
		if _, err := do[capability.SubscribeRequest, capability.State](r,
			capability.SubscribeRequest{Ref: r.watch}); err != nil {
			t.Fatal(err)
		}
	}
	for _, enabled := range []bool{false, false, true} {
		if _, err := do[capability.NotifyRequest, struct{}](r,
			capability.NotifyRequest{Name: "prompts", Enabled: enabled}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []bool{false, true} {
		if got := <-r.changes; got.Name != "prompts" || got.Enabled != want {
			t.Errorf("got %+v, want prompts %t", got, want)
		}
	}
	if n := len(r.changes); n != 0 {
		t.Errorf("%d more changes than there were", n)
	}
	if _, err := do[capability.NotifyRequest, struct{}](r,
		capability.NotifyRequest{Name: "telepathy", Enabled: true}); !errors.Is(err,
		capability.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
}

// S4-26, S4-27, S4-31, S3-60: experimental features are added, replaced and listed by name, up to a
// bound.
func TestExperimentalFeatures(t *testing.T) {
	r := start(t)
	register := func(name, settings string) error {
		_, err := do[capability.Experimental, struct{}](r, capability.Experimental{
			Name: name, Settings: jsontext.Value(settings),
		})
		return err
	}
	for _, f := range []struct{ name, settings string }{{"b", `{"v":1}`}, {"a", `{}`},
		{"b", `{"v":2}`}} {
		if err := register(f.name, f.settings); err != nil {
			t.Fatal(err)
		}
	}
	got, err := do[capability.ExperimentsRequest, []capability.Experimental](r,
		capability.ExperimentsRequest{})
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" ||
		string(got[1].Settings) != `{"v":2}` {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []struct{ name, settings string }{{"", `{}`}, {"c", `[]`}, {"c", `{`},
		{"c", ``}} {
		if register(bad.name, bad.settings) == nil {
			t.Errorf("%q with settings %q was taken", bad.name, bad.settings)
		}
	}
	for i := range capability.MaxExperimental - 2 {
		if err := register(fmt.Sprintf("n%d", i), `{}`); err != nil {
			t.Fatal(err)
		}
	}
	if err := register("one too many", `{}`); !errors.Is(err, capability.ErrTooMany) {
		t.Errorf("got %v, want too many", err)
	}
	if err := register("a", `{"v":3}`); err != nil {
		t.Errorf("to replace one at the bound: got %v", err)
	}
}
