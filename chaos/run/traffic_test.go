package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpd/chaos/experiment"
	"mcpd/internal/load"
)

// If a tenant's key is wrong or missing, the error says that the key is refused and what to do.
func TestKeysThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		status    int
		key, does string
	}{
		{http.StatusUnauthorized, "", "say with --key acme=@FILE "},
		{http.StatusForbidden, "", "say with --key acme=@FILE "},
		{http.StatusUnauthorized, "wrong", "the key of --key acme is none of the tenant's"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
		}))
		_, err := open(t.Context(), experiment.Load{Sessions: 1, Rate: 1}, "acme", "target",
			s.URL, test.key)
		s.Close()
		if Status(err) != test.status ||
			!strings.HasPrefix(err.Error(), "tenant acme: the host refuses its clients: "+test.does) {
			t.Errorf("status %d, key %q: %v", test.status, test.key, err)
		}
	}
}

// answers is a client that gives the same answer to all calls.
type answers struct {
	text string
	err  error
}

func (a answers) Call(context.Context, load.Nonce) (load.Nonce, error) {
	return load.Nonce(a.text), a.err
}

// Failed calls before the faults are reported at once, with the errors, and end the run after a
// while. If the server answers all of them with errors that will not change, the run ends after
// some seconds.
func TestLoadThatGoesWrongFromTheBeginning(t *testing.T) {
	for _, test := range []struct {
		name string
		from answers
		text string
		soon bool
		gone error // the error of a host that is gone
	}{
		{"no such tool", answers{err: &load.CallError{Code: -32602, Message: "unknown tool"}},
			"50 times error -32602: unknown tool", true, nil},
		{"the tool fails", answers{err: load.ToolError("no disk")},
			"50 times the tool failed: no disk", true, nil},
		{"another text", answers{text: "hello"},
			"50 times an answer without the text of the call", true, nil},
		{"a server that is not there yet", answers{err: &load.CallError{Code: -32009, Message: "later"}},
			"50 times error -32009: later", false, nil},
		{"a host that is gone", answers{err: errors.New("refused")}, "", true, ErrUnreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own := &traffic{tenant: "acme", rate: 10}
				own.client.Tool = "demo__echo"
				var said []string
				begun := time.Now()
				say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
				l := experiment.Load{Rate: 10, Sessions: 1, Timeout: time.Second}
				err := own.warmWith(t.Context(), []load.Client{test.from}, 50, l, rand.New(rand.NewPCG(1, 1)),
					func(context.Context) error {
						return test.gone
					}, say)
				if test.gone != nil {
					if took := time.Since(begun); !errors.Is(err, test.gone) || took > 2*warmSeconds*time.Second {
						t.Errorf("%v after %v", err, took)
					}
					return
				}
				if want := "tenant acme: calls of demo__echo go wrong although nothing is broken: " +
					test.text; err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				if took := time.Since(begun); test.soon != (took < 2*warmSeconds*time.Second) ||
					took > 2*warmTime {
					t.Errorf("after %v", took)
				}
				if test.soon {
					return
				}
				if len(said) != 1 || !strings.Contains(said[0], test.text) {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}

// Tenants that call at the same rate do not call at the same time: their calls are evenly spaced.
func TestTenantsCallAtTimesOfTheirOwn(t *testing.T) {
	all := []*traffic{{}, {}, {}, {}}
	spread(all)
	for i, want := range []time.Duration{0, 25 * time.Millisecond, 50 * time.Millisecond,
		75 * time.Millisecond} {
		if got := all[i].late(10); got != want {
			t.Errorf("tenant %d is %v late, want %v", i, got, want)
		}
		if got := all[i].late(0); got != 0 {
			t.Errorf("tenant %d, which does not call, is %v late", i, got)
		}
	}
}
