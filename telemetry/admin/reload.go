package admin

import (
	"context"
	"errors"
	"net/http"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// Reload reads the configuration and applies it as a whole. Its error says why
// nothing has changed; [ErrSafeMode] is in it where that is the reason.
type Reload func(ctx context.Context) (*mcpdv1.Reload, error)

// ErrSafeMode is why a host that crashed too often does not reload.
var ErrSafeMode = errors.New("this host is in safe mode, where no configuration applies")

// config answers which configuration applies.
func (h *handler) config(w http.ResponseWriter, _ *http.Request) {
	c := &mcpdv1.Configuration{}
	if h.Config != nil {
		c = h.Config()
	}
	answer(w, http.StatusOK, c)
}

// reload answers what changed. Whatever was wrong, it was with the file, or there is nothing to be reloaded.
func (h *handler) reload(w http.ResponseWriter, r *http.Request) {
	if h.Reload == nil {
		problem(w, http.StatusNotFound, "this host reloads nothing", "it is part of mcpd serve")
		return
	}
	report, err := h.Reload(r.Context())
	if errors.Is(err, ErrSafeMode) {
		problem(w, http.StatusConflict, err.Error(), "nothing is reloaded until it has been started again")
		return
	}
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, err.Error(), "nothing has changed: what applied before still does")
		return
	}
	answer(w, http.StatusOK, report)
}
