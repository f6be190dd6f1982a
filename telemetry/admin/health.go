package admin

import (
	"net/http"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// Phase is the phase of the host's life.
type Phase uint8

// The phases.
const (
	Starting Phase = iota
	Serving
	Draining
	// In SafeMode only this listener serves, because the host crashed too often.
	SafeMode
)

// Health is the state that readiness depends on. It never includes an upstream server.
type Health struct {
	Phase      Phase
	Checks     []Check
	Generation uint32 // of the configuration
}

// Check is one condition of readiness.
type Check struct {
	Name string
	OK   bool
	// Required says that the host is not ready while the check is unmet. Any other unmet check makes
	// it degraded.
	Required bool
	Detail   string // the fault when it is not OK
}

// The words of /readyz.
const (
	ready    = "ready"
	degraded = "degraded"
	starting = "starting"
	draining = "draining"
	safeMode = "safe_mode"
)

// States are the words that Health.Status returns, in the order of a host's life.
var States = []string{starting, ready, degraded, draining, safeMode}

var codes = map[string]int{
	ready:    http.StatusOK,
	degraded: http.StatusOK,
	starting: http.StatusServiceUnavailable,
	draining: http.StatusServiceUnavailable,
	safeMode: http.StatusServiceUnavailable,
}

// Status returns the word for the host's state. If a required part is down, its supervisor is
// restarting it, so the state is starting.
func (h Health) Status() string {
	switch h.Phase {
	case Draining:
		return draining
	case SafeMode:
		return safeMode
	}
	word := ready
	if h.Phase == Starting {
		word = starting
	}
	for _, c := range h.Checks {
		switch {
		case c.OK:
		case c.Required:
			word = starting
		case word == ready:
			word = degraded
		}
	}
	return word
}

func (h *handler) livez(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}

// readyz answers probes from everywhere. It shows the checks only to callers who may read.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	health := h.Health()
	word := health.Status()
	body := &mcpdv1.Health{Status: word, Generation: health.Generation}
	if h.access(r, Read) == http.StatusOK {
		for _, c := range health.Checks {
			body.Checks = append(body.Checks, &mcpdv1.Check{
				Name: c.Name, Ok: c.OK, Required: c.Required,
				Detail: telemetry.Clean(c.Detail, telemetry.MaxValue),
			})
		}
	}
	answer(w, codes[word], body)
}
