package admin

import (
	"context"
	"errors"
	"net/http"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// Reload reads the configuration and applies it as a whole. If it fails, nothing has changed and
// the error says why. The error wraps [ErrSafeMode] if that is the reason.
type Reload func(ctx context.Context) (*mcpdv1.Reload, error)

// ErrSafeMode is the reason why a host that crashed too often does not reload.
var ErrSafeMode = errors.New("this host is in safe mode, where no configuration applies")

// config answers with the configuration in force.
func (h *handler) config(w http.ResponseWriter, _ *http.Request) {
	c := &mcpdv1.Configuration{}
	if h.Config != nil {
		c = h.Config()
	}
	answer(w, http.StatusOK, c)
}

// reload answers with the changes. An error other than ErrSafeMode means that the file is at fault,
// or that there is nothing to reload.
func (h *handler) reload(w http.ResponseWriter, r *http.Request) {
	if h.Reload == nil {
		problem(w, http.StatusNotFound, "this host cannot reload a configuration", "only mcpd serve can")
		return
	}
	report, err := h.Reload(r.Context())
	if errors.Is(err, ErrSafeMode) {
		problem(w, http.StatusConflict, err.Error(),
			"no configuration is reloaded until the host has been started again")
		return
	}
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, err.Error(),
			"nothing has changed: the previous configuration stays in effect")
		return
	}
	answer(w, http.StatusOK, report)
}
