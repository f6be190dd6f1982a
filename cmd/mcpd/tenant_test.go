package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A command waits a moment until its tenant has stopped. If the tenant takes longer, the command
// prints its current state and how to watch it. That is not a failure.
func TestTenantThatStopsSlowlyIsShownAsStopping(t *testing.T) {
	for _, row := range []struct {
		after     int32 // how many polls it takes until the tenant has stopped
		out, errs string
	}{
		{0, "acme: quarantined\n", ""},
		{3, "acme: quarantined\n", ""},
		{1 << 30, "acme: stopping\n", "mcpd tree"},
	} {
		var looks atomic.Int32
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			state := "quarantined"
			if n := looks.Add(1); n <= row.after {
				state = "stopping"
			}
			body := fmt.Sprintf(`{"name":"acme","state":%q}`, state)
			if r.Method == http.MethodGet {
				body = `{"tenants":[{"name":"globex","state":"running"},` + body + `]}`
			}
			_, _ = io.WriteString(w, body)
		}))
		var out, errs strings.Builder
		cmd := tenantCommand()
		cmd.SetArgs([]string{"quarantine", "acme", "--admin", strings.TrimPrefix(host.URL, "http://")})
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		begin := time.Now()
		err := cmd.ExecuteContext(t.Context())
		host.Close()
		if took := time.Since(begin); err != nil || out.String() != row.out ||
			!strings.Contains(errs.String(), row.errs) ||
			row.errs == "" && errs.Len() > 0 || took > 2*transitionTimeout {
			t.Errorf("%d looks: %v, %q, %q after %v", row.after, err, out.String(), errs.String(), took)
		}
	}
}

// A command that is interrupted while it waits says so, because the final state of the tenant is
// unknown.
func TestTenantCommandThatIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			interrupt()
		}
		_, _ = io.WriteString(w, `{"name":"acme","state":"stopping"}`)
	}))
	defer host.Close()
	var out strings.Builder
	cmd := tenantCommand()
	cmd.SetArgs([]string{"quarantine", "acme", "--admin", strings.TrimPrefix(host.URL, "http://")})
	cmd.SetOut(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("got %v, and it says %q", err, out.String())
	}
}
