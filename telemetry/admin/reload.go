package admin

import (
	"context"
	"net/http"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// Reload reads the configuration and applies it as a whole. Its error says why
// nothing has changed.
type Reload func(ctx context.Context) (*mcpdv1.Reload, error)

// config answers which configuration applies.
func (h *handler) config(w http.ResponseWriter, _ *http.Request) {
	c := &mcpdv1.Configuration{}
	if h.Config != nil {
		c = h.Config()
	}
	answer(w, http.StatusOK, c)
}

// reload answers what changed. Whatever was wrong, it was with the file.
func (h *handler) reload(w http.ResponseWriter, r *http.Request) {
	if h.Reload == nil {
		problem(w, http.StatusNotFound, "this host reloads nothing", "it is part of mcpd serve")
		return
	}
	report, err := h.Reload(r.Context())
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, err.Error(), "nothing has changed: what applied before still does")
		return
	}
	answer(w, http.StatusOK, report)
}
