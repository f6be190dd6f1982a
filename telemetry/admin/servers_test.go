package admin

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// Callers who may read see the servers, without characters that would control a terminal. Callers
// who may write can operate them.
func TestServersAreShownAndOperated(t *testing.T) {
	all := []*mcpdv1.Server{
		{Tenant: "acme", Name: "files", State: "quarantined", Cause: "boom\x1b[31m",
			CauseClass: "permanent"},
		{Tenant: "globex", Name: "files", State: "ready"},
	}
	var did []string
	h := start(t, func(o *Options) {
		o.Servers = func() iter.Seq[*mcpdv1.Server] { return slices.Values(all) }
		o.Operate = func(_ context.Context, tenant, server, verb string) (*mcpdv1.Server, error) {
			did = append(did, verb+" "+tenant+"/"+server)
			switch server {
			case "nothing":
				return nil, ErrNoServer
			case "away":
				return nil, ErrQuarantined
			case "unstored":
				return nil, errors.New("it is done, but would not survive a restart of the host")
			}
			return &mcpdv1.Server{Tenant: tenant, Name: server, State: "idle"}, nil
		}
	})
	if status, body := h.ask(http.MethodGet, "/admin/v1/servers"); status != http.StatusOK ||
		strings.Count(body, `"name"`) != 2 || strings.Contains(body, "\x1b") ||
		!strings.Contains(body, `"cause":"boom\\x1b[31m"`) {
		t.Errorf("got %d %s", status, body)
	}
	if _, body := h.ask(http.MethodGet, "/admin/v1/servers?tenant=globex"); strings.Contains(body,
		"acme") || !strings.Contains(body, "globex") {
		t.Errorf("of one tenant: %s", body)
	}
	reads, writes := []string{"Authorization", h.bearer(Read)}, []string{
		"Authorization", h.bearer(Write),
	}
	for _, tt := range []struct {
		path    string
		headers []string
		status  int
		text    string
	}{
		{"acme/files/restart", reads, http.StatusForbidden, ""},
		{"acme/files/restart", nil, http.StatusUnauthorized, ""},
		{"acme/files/restart", writes, http.StatusOK, `"state":"idle"`},
		{"acme/files/quarantine", writes, http.StatusOK, `"state":"idle"`},
		{"acme/files/release", writes, http.StatusOK, `"state":"idle"`},
		{"acme/nothing/release", writes, http.StatusNotFound, "no such server"},
		{"acme/away/restart", writes, http.StatusConflict, "mcpd server release"},
		{"acme/unstored/quarantine", writes, http.StatusInternalServerError, "would not survive"},
		{"acme/files/delete", writes, http.StatusNotFound, ""},
	} {
		if status, body := h.ask(http.MethodPost, "/admin/v1/servers/"+tt.path,
			tt.headers...); status != tt.status || !strings.Contains(body, tt.text) {
			t.Errorf("%s: %d %s, want %d", tt.path, status, body, tt.status)
		}
	}
	if want := []string{"restart acme/files", "quarantine acme/files", "release acme/files",
		"release acme/nothing", "restart acme/away", "quarantine acme/unstored"}; !slices.Equal(did,
		want) {
		t.Errorf("did %q", did)
	}
}

// ask is do without the header of the answer.
func (h *host) ask(method, path string, headers ...string) (int, string) {
	status, _, body := h.do(method, path, "", headers...)
	return status, body
}
