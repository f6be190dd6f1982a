// Package admin serves the listener for the operators of the host and their programs: health,
// metrics, the live supervision tree, sessions, events, faults. It reads snapshots that it is
// given and asks no actor. It does not know MCP, the credentials of tenants, or how the state
// that it shows came about.
package admin

import (
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mcpd/internal/clock"
	"mcpd/internal/fault"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

const (
	// maxRequests bounds the requests that are served at once. It allows for some dashboards, a
	// scraper and a few people. A snapshot of a large tree takes memory.
	maxRequests = 64
	// maxWatchers bounds the streams among them, so that forgotten streams leave room for a probe.
	maxWatchers = 16
)

// Options say what the listener shows. Tree, Health and Recorder are required.
type Options struct {
	Tree     func() otp.Node
	Health   func() Health
	Recorder *telemetry.Recorder
	Sessions func() iter.Seq[*mcpdv1.Session] // nil shows none
	Servers  func() iter.Seq[*mcpdv1.Server]  // nil shows none
	Operate  Operate                          // nil: servers cannot be operated
	// OperateTenant is nil if tenants cannot be operated.
	OperateTenant OperateTenant
	Tenants       func() iter.Seq[*mcpdv1.Tenant] // nil shows none
	Metrics       prometheus.Gatherer             // nil shows none
	Faults        Faults                          // nil unless the host was started with --chaos
	// Production reports whether arming a fault needs an explicit confirmation; nil means no.
	Production func() bool
	Tokens     *Tokens // nil refuses all requests that need a token
	// Hosts are names besides loopback by which the listener is reached.
	Hosts  []string
	Reload Reload                       // nil: this host cannot reload
	Config func() *mcpdv1.Configuration // nil shows none
	Routes []Route                      // additional routes of the wiring
	Clock  clock.Clock                  // nil is clock.System
}

// Faults arms and disarms faults. The registry of the process implements it; a cluster could
// implement it differently.
type Faults interface {
	Arm(fault.Fault) (id string, err error)
	Renew(id string, lease time.Duration) (fault.Status, error)
	Disarm(id string) bool
	DisarmRun(run string) int
	Active() []fault.Status
}

// Route is one method of one path.
type Route struct {
	Method      string
	Path        string // a pattern of http.ServeMux without its method
	Scope       Scope
	Description string // its description in GET /
	Serve       http.HandlerFunc
}

type handler struct {
	Options
	requests atomic.Int32
	watchers atomic.Int32
}

// routes returns the table of what the listener serves.
func (h *handler) routes() []Route {
	return append([]Route{
		{http.MethodGet, "/{$}", Read, "this list", h.index},
		{http.MethodGet, "/livez", Open, "200 as long as the process answers", h.livez},
		{http.MethodGet, "/readyz", Open,
			"200 ready or degraded, 503 starting or draining; the checks", h.readyz},
		{http.MethodGet, "/metrics", Read, "Prometheus", h.metrics()},
		{http.MethodGet, "/admin/v1/tree", Read,
			"the live supervision tree; ?all=1 shows pools whole, ?watch=1 streams", h.tree},
		{http.MethodGet, "/admin/v1/sessions", Read, "downstream sessions; ?tenant=, ?limit=",
			h.sessions},
		{http.MethodGet, "/admin/v1/servers", Read,
			"configured servers and how they are doing; ?tenant=", h.servers},
		{http.MethodPost, "/admin/v1/servers/{tenant}/{server}/restart", Write,
			"end its connections and start them again", h.operate("restart")},
		{http.MethodPost, "/admin/v1/servers/{tenant}/{server}/quarantine", Write,
			"end its connections and start none", h.operate("quarantine")},
		{http.MethodPost, "/admin/v1/servers/{tenant}/{server}/release", Write, "let it be started again",
			h.operate("release")},
		{http.MethodGet, "/admin/v1/tenants", Read, "configured tenants and how they stand", h.tenants},
		{http.MethodPost, "/admin/v1/tenants/{tenant}/restart", Write, "stop it and start it again",
			h.operateTenant("restart")},
		{http.MethodPost, "/admin/v1/tenants/{tenant}/quarantine", Write, "stop it and do not start it",
			h.operateTenant("quarantine")},
		{http.MethodPost, "/admin/v1/tenants/{tenant}/release", Write, "start it now",
			h.operateTenant("release")},
		{http.MethodGet, "/admin/v1/events", Read,
			"the last events; ?after=, ?watch=1 streams", h.events},
		{http.MethodGet, "/admin/v1/config", Read,
			"which configuration applies: generation, digest, since when; where MCP is served, by which " +
				"process, and what memory that may have", h.config},
		{http.MethodPost, "/admin/v1/reload", Write,
			"apply the configuration file as a whole; says what changed", h.reload},
		// A profile stops the process for a moment, so it needs more than the scope Read.
		{http.MethodGet, "/debug/pprof/{profile}", Write,
			"goroutine, heap and so on, for go tool pprof; ?debug=1 as text, ?gc=1 after a collection",
			h.profile},
		{http.MethodGet, "/admin/v1/faults", Chaos, "armed faults", h.listFaults},
		{http.MethodPost, "/admin/v1/faults", Chaos, "arm one", h.armFault},
		{http.MethodDelete, "/admin/v1/faults", Chaos, "disarm all; ?run= those of one run", h.disarmAll},
		{http.MethodPost, "/admin/v1/faults/{id}/renew", Chaos, "give one a new lease", h.renewFault},
		{http.MethodDelete, "/admin/v1/faults/{id}", Chaos, "disarm one", h.disarmFault},
	}, h.Routes...)
}

// index lists the routes, for users of curl.
func (h *handler) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, r := range h.routes() {
		fmt.Fprintf(w, "%-6s %-52s %-5s  %s\n", r.Method, strings.TrimSuffix(r.Path, "{$}"),
			r.Scope, r.Description)
	}
}

// Handler returns the handler of the admin listener.
func Handler(o Options) http.Handler {
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Production == nil {
		o.Production = func() bool { return false }
	}
	h := &handler{Options: o}
	byPath := make(map[string]methods)
	for _, r := range h.routes() {
		if byPath[r.Path] == nil {
			byPath[r.Path] = make(methods)
		}
		byPath[r.Path][r.Method] = h.guarded(r)
	}
	mux := http.NewServeMux()
	for path, m := range byPath {
		mux.Handle(path, m)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, "no such path: "+telemetry.Clean(r.URL.Path, 200),
			"GET / lists the paths")
	})
	return h.edge(mux)
}
