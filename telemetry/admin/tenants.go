package admin

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/protobuf/proto"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// OperateTenant does to a tenant what an operator wants: restart, quarantine or release it. The
// answer is how it stands when that is written down; the state says if it is being stopped or started.
// Errors are ErrNoTenant and ErrPutAway.
type OperateTenant func(ctx context.Context, tenant, verb string) (*mcpdv1.Tenant, error)

// ErrNoTenant says that no such tenant is configured.
var ErrNoTenant = errors.New("no such tenant")

// tenants lists all of them.
func (h *handler) tenants(w http.ResponseWriter, _ *http.Request) {
	body := &mcpdv1.TenantList{}
	if h.Tenants != nil {
		for t := range h.Tenants() {
			body.Tenants = append(body.Tenants, shownTenant(t))
		}
	}
	answer(w, http.StatusOK, body)
}

// operateTenant is the handler of one verb.
func (h *handler) operateTenant(verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.OperateTenant == nil {
			problem(w, http.StatusNotFound, "this host has no tenants to "+verb, "it is part of mcpd serve")
			return
		}
		t, err := h.OperateTenant(r.Context(), r.PathValue("tenant"), verb)
		switch {
		case errors.Is(err, ErrNoTenant):
			problem(w, http.StatusNotFound, err.Error(), "GET /admin/v1/tenants lists them")
		case errors.Is(err, ErrPutAway):
			problem(w, http.StatusConflict, err.Error(), "mcpd tenant release lets it be started again")
		case err != nil:
			problem(w, http.StatusInternalServerError, telemetry.Clean(err.Error(), telemetry.MaxValue), "GET /admin/v1/tenants shows how it stands")
		default:
			answer(w, http.StatusOK, shownTenant(t))
		}
	}
}

// shownTenant is a copy in which the words of a crash are safe to show.
func shownTenant(t *mcpdv1.Tenant) *mcpdv1.Tenant {
	out := proto.CloneOf(t)
	out.Cause = telemetry.Clean(t.GetCause(), telemetry.MaxValue)
	return out
}
