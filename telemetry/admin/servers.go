package admin

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/protobuf/proto"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// Operate performs an operator's action on a server: restart, quarantine or release. It returns
// the state of the server afterwards. ErrNoServer says that there is no server of that name,
// ErrQuarantined that the server must be released first.
type Operate func(ctx context.Context, tenant, server, verb string) (*mcpdv1.Server, error)

// ErrNoServer says that no such server is configured.
var ErrNoServer = errors.New("no such server")

// ErrQuarantined says that an operator has quarantined the server that should be restarted.
var ErrQuarantined = errors.New("an operator has quarantined it")

// servers lists the servers of all tenants or of one.
func (h *handler) servers(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	tenant, one := query.Get("tenant"), query.Has("tenant")
	body := &mcpdv1.ServerList{}
	if h.Servers != nil {
		for s := range h.Servers() {
			if !one || s.GetTenant() == tenant {
				body.Servers = append(body.Servers, served(s))
			}
		}
	}
	answer(w, http.StatusOK, body)
}

// operate returns the handler of one verb.
func (h *handler) operate(verb string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.Operate == nil {
			problem(w, http.StatusNotFound, "this host has no servers to "+verb, "only mcpd serve has them")
			return
		}
		s, err := h.Operate(r.Context(), r.PathValue("tenant"), r.PathValue("server"), verb)
		switch {
		case errors.Is(err, ErrNoServer):
			problem(w, http.StatusNotFound, err.Error(), "GET /admin/v1/servers lists them")
		case errors.Is(err, ErrQuarantined):
			problem(w, http.StatusConflict, err.Error(), "mcpd server release allows it to start again")
		case err != nil:
			problem(w, http.StatusInternalServerError, telemetry.Clean(err.Error(), telemetry.MaxValue),
				"GET /admin/v1/servers shows its state")
		default:
			answer(w, http.StatusOK, served(s))
		}
	}
}

// served returns a copy in which the texts of the server are safe to show.
func served(s *mcpdv1.Server) *mcpdv1.Server {
	out := proto.CloneOf(s)
	out.Cause, out.Stderr = telemetry.Clean(s.GetCause(),
		telemetry.MaxValue), telemetry.Clean(s.GetStderr(), telemetry.MaxValue)
	return out
}
