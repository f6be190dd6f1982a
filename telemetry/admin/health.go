package admin

import (
	"net/http"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/telemetry"
)

// Phase is where the host is in its life.
type Phase uint8

// Phases.
const (
	Starting Phase = iota
	Serving
	Draining
	SafeMode // only this listener serves, because the host crashed too often
)

// Health is what readiness depends on: never an upstream server.
type Health struct {
	Phase      Phase
	Checks     []Check
	Generation uint32 // of the configuration
}

// Check is one thing that readiness looks at.
type Check struct {
	Name     string
	OK       bool
	Required bool   // without it there is no service; otherwise it is degraded
	Detail   string // what is wrong, when it is not OK
}

// Words of /readyz.
const (
	ready    = "ready"
	degraded = "degraded"
	starting = "starting"
	draining = "draining"
	safeMode = "safe_mode"
)

// States are the words that Health.Status has, in the order of a host's life.
var States = []string{starting, ready, degraded, draining, safeMode}

var codes = map[string]int{
	ready:    http.StatusOK,
	degraded: http.StatusOK,
	starting: http.StatusServiceUnavailable,
	draining: http.StatusServiceUnavailable,
	safeMode: http.StatusServiceUnavailable,
}

// Status is the word for the host's state. A required part that is down is being
// started again by its supervisor, so the host is starting.
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

// readyz answers probes from everywhere; what is wrong is for those who may read.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	health := h.Health()
	word := health.Status()
	body := &mcpdv1.Health{Status: word, Generation: health.Generation}
	if h.access(r, Read) == http.StatusOK {
		for _, c := range health.Checks {
			body.Checks = append(body.Checks, &mcpdv1.Check{
				Name: c.Name, Ok: c.OK, Required: c.Required, Detail: telemetry.Clean(c.Detail, telemetry.MaxValue),
			})
		}
	}
	answer(w, codes[word], body)
}
