package supervisor

import (
	"net/http"
	"strconv"

	"mcpd/protocol"
	"mcpd/protocol/jsonrpc"
	"mcpd/supervisor/otp"
)

// safeRetry is when a client may ask a host in safe mode again. An operator has to act first.
const safeRetry = minute

// safeTree is the tree of a host in safe mode: the admin listener for operators, and a listener
// that refuses clients.
func (h *host) safeTree() otp.Spec {
	in := h.intensity
	return otp.Spec{Strategy: otp.OneForOne, Intensity: in(3, minute), Backoff: backoff,
		Children: []otp.Child{
			service("admin", 1*second, h.admin),
			sup("observability", otp.Temporary, in(10, minute), 5*second,
				service("event_log", 2*second, h.eventLog)),
			pausing("listeners", in(5, minute), backoff, h.listeners()...),
		}}
}

// refuseAll answers every request with 503 and the error that the host is in safe mode. Only
// operators learn the reason for safe mode.
func refuseAll() http.Handler {
	err := &protocol.Error{
		Condition: protocol.ConditionOverloaded, Message: "the host is in safe mode",
		RetryAfter: safeRetry,
	}
	body := jsonrpc.Failure(jsonrpc.ID{}, protocol.Translate(err, protocol.LatestLegacy)).Append(nil)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", strconv.Itoa(int(safeRetry.Seconds())))
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write(body)
	})
}
