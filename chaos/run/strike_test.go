package run

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
)

// A problem with a fault after its injection is not reported as a failed injection.
func TestFaultsThatGoWrongWereInjected(t *testing.T) {
	wrong := errors.New("no answer")
	for want, in := range map[string]faults.Injected{
		"not healed: no answer": {Heal: func(context.Context) error {
			return wrong
		}, Hits: func(context.Context) (int, error) { return 0, wrong }},
		"no answer": {Heal: func(context.Context) error {
			return nil
		}, Hits: func(context.Context) (int, error) { return 1, wrong }},
	} {
		r := &run{Options: Options{Kinds: []faults.Kind{{Name: "any",
			Inject: func(context.Context, *faults.Site) (faults.Injected, error) {
				return in, nil
			}}}}, operator: newOperator(Options{}, "run")}
		slots := make(chan struct{}, 1)
		slots <- struct{}{}
		got := r.strike(t.Context(), experiment.Strike{Kind: "any", Tenant: "acme"}, 0, slots)
		if got.Error != "" || got.Wrong != want {
			t.Errorf("error %q, wrong %q, want %q", got.Error, got.Wrong, want)
		}
	}
}

// Where any server will do, a running server is struck and named in the record, even if none ran at
// first.
func TestAServerThatRunsIsStruck(t *testing.T) {
	const (
		began = `{"path":"mcpd","children":[{"path":"mcpd/tenants/acme","children":[{"path":"mcpd/tenants/acme/client_sup/demo","link":"stdio"},{"path":"mcpd/tenants/acme/client_sup/files","link":"stdio"`
		none  = began + `}]}]}`
		files = began + `,"children":[{"path":"mcpd/tenants/acme/client_sup/files/1/connection","pid":4711}]}]}]}`
	)
	for _, trees := range [][]string{{files}, {none, files}} {
		kind := faults.Kind{Name: "any",
			Inject: func(_ context.Context, s *faults.Site) (faults.Injected, error) {
				if s.Server != "files" {
					return faults.Injected{}, faults.ErrNoChild
				}
				return faults.Injected{Target: s.Server, Heal: func(context.Context) error {
					return nil
				}, Hits: func(context.Context) (int, error) { return 1, nil }}, nil
			}}
		r := &run{Options: Options{Kinds: []faults.Kind{kind}}, operator: operate(t, &host{trees: trees})}
		slots := make(chan struct{}, 1)
		slots <- struct{}{}
		got := r.strike(t.Context(),
			experiment.Strike{Kind: "any", Tenant: "acme", Server: "demo", AnyServer: true}, 0, slots)
		if got.Error != "" || got.Target != "files" || got.plan.Server != "files" {
			t.Errorf("%+v", got)
		}
	}
}

// A fault whose target is gone for a moment strikes a moment later. A fault that can never strike
// gives the reason within seconds. A fault that panics is not retried.
func TestFaultsInsist(t *testing.T) {
	gone := errors.New("gone")
	for _, test := range []struct {
		name  string
		fails int // number of failed attempts
		with  func()
		tries int
		ok    bool
	}{
		{"at once", 0, nil, 1, true},
		{"a moment later", injectTries - 1, nil, injectTries, true},
		{"never", injectTries, nil, injectTries, false},
		{"panicked", injectTries, func() { panic("x") }, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, began := 0, time.Now()
				kind := faults.Kind{Name: "any",
					Inject: func(context.Context, *faults.Site) (faults.Injected, error) {
						tries++
						if test.with != nil {
							test.with()
						}
						if tries <= test.fails {
							return faults.Injected{}, gone
						}
						return faults.Injected{Target: "it"}, nil
					}}
				in, err := injectWithRetry(t.Context(), kind, &faults.Site{}, func() {})
				if tries != test.tries || (err == nil) != test.ok || test.ok && in.Target != "it" {
					t.Errorf("%d tries, %v, want %d", tries, err, test.tries)
				}
				if took := time.Since(began); took > injectTries*injectPause {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
