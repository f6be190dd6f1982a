package supervisor

import (
	"net"
	"net/http"

	"mcpd/gateway/tenant"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// maxRefusedPath bounds the path of a refused request in the log, in bytes. The refused client
// chose it.
const maxRefusedPath = 256

// refused reports a refused HTTP request: who sent it, and for what. If nobody was authenticated,
// the tenant is the one that the path names, if it exists. The log shows a limited number of these
// events a second and counts the rest, as the table in package telemetry says.
func (h *host) refused(r *http.Request, of, reason string, _ int) {
	path := r.URL.EscapedPath()
	if of == "" {
		of = h.tenantOf(h.now().path(r))
	}
	where := telemetry.Where{Tenant: of, Routine: routine(r.Method, reason)}
	h.recorder.Emit(telemetry.Rejected{
		Where: where, Reason: reason, Method: r.Method,
		Address: r.RemoteAddr, URLPath: telemetry.Clean(path, maxRefusedPath),
	})
}

// routine reports whether refusals of this kind are normal. A GET asks for a stream, and 405 is how
// a server says that it has none. SDKs try it and continue.
func routine(method, reason string) bool {
	return method == http.MethodGet && reason == "http_method"
}

// panicked reports a request whose handler has crashed, and returns the crash. Only that request
// fails.
func (h *host) panicked(r *http.Request, value any, pcs []uintptr) error {
	path := r.URL.EscapedPath()
	report := &otp.CrashReport{Path: root + "/listeners/mcp", PCs: pcs, At: h.awake.Now()}
	if err, ok := value.(error); ok {
		report.Reason = err
	} else {
		report.Reason = &otp.PanicError{Value: value}
	}
	h.recorder.Emit(telemetry.RequestPanicked{
		Where: telemetry.Where{
			Tenant: h.tenantOf(h.now().path(r)), Path: report.Path, Incident: report.Incident(),
		},
		Method: r.Method, Address: r.RemoteAddr, URLPath: telemetry.Clean(path, maxRefusedPath),
		Reason: report.Reason.Error(), Report: report,
	})
	return report
}

// disconnected reports that a client's connection was closed.
func (h *host) disconnected(reason string, from net.Addr, of string) {
	address := ""
	if from != nil {
		address = from.String()
	}
	h.recorder.Emit(telemetry.Rejected{
		Where: telemetry.Where{Tenant: of}, Reason: reason, Address: address,
	})
}

// tenantOf returns the configured tenant that a path names, "" if there is none.
func (h *host) tenantOf(path string) string {
	route, ok := tenant.ParsePath(path)
	if !ok {
		var action tenant.Action
		action, ok = tenant.ParseAction(path, "")
		route = action.Route
	}
	if !ok || h.now().tenants[route.Tenant] == nil {
		return ""
	}
	return route.Tenant
}
