package admin

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/protobuf/proto"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// OperateTenant performs an operator's action on a tenant: restart, quarantine or release. It
// returns the standing of the tenant as soon as the standing is stored; the state says if the
// tenant is being stopped or started. Its errors are ErrNoTenant and ErrQuarantined.
type OperateTenant func(ctx context.Context, tenant, verb string) (*mcpdv1.Tenant, error)

// ErrNoTenant says that no such tenant is configured.
var ErrNoTenant = errors.New("no such tenant")

// tenants lists all tenants.
func (h *handler) tenants(w http.ResponseWriter, _ *http.Request) {
	body := &mcpdv1.TenantList{}
	if h.Tenants != nil {
		for t := range h.Tenants() {
			body.Tenants = append(body.Tenants, shownTenant(t))
		}
	}
	answer(w, http.StatusOK, body)
}

// operateTenant returns the handler of one verb.
func (h *handler) operateTenant(verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.OperateTenant == nil {
			problem(w, http.StatusNotFound, "this host has no tenants to "+verb, "only mcpd serve has them")
			return
		}
		t, err := h.OperateTenant(r.Context(), r.PathValue("tenant"), verb)
		switch {
		case errors.Is(err, ErrNoTenant):
			problem(w, http.StatusNotFound, err.Error(), "GET /admin/v1/tenants lists them")
		case errors.Is(err, ErrQuarantined):
			problem(w, http.StatusConflict, err.Error(), "mcpd tenant release allows it to start again")
		case err != nil:
			problem(w, http.StatusInternalServerError, telemetry.Clean(err.Error(), telemetry.MaxValue),
				"GET /admin/v1/tenants shows its state")
		default:
			answer(w, http.StatusOK, shownTenant(t))
		}
	}
}

// shownTenant returns a copy in which the text of a crash is safe to show.
func shownTenant(t *mcpdv1.Tenant) *mcpdv1.Tenant {
	out := proto.CloneOf(t)
	out.Cause = telemetry.Clean(t.GetCause(), telemetry.MaxValue)
	return out
}
