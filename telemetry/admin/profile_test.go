package admin

import (
	"strings"
	"testing"
)

// Callers with the scope Write can read profiles, and no others.
func TestProfiles(t *testing.T) {
	h := start(t, nil)
	for _, test := range []struct {
		path, token string
		status      int
		kind, want  string
	}{
		{"/debug/pprof/goroutine?debug=1", h.bearer(Write), 200, "text/plain; charset=utf-8",
			"admin.(*handler).profile"},
		{"/debug/pprof/heap?gc=1&debug=1", h.bearer(Write), 200, "text/plain; charset=utf-8",
			"# HeapAlloc = "},
		{"/debug/pprof/heap?gc=2", h.bearer(Write), 400, "application/json", "gc"},
		{"/debug/pprof/heap", h.bearer(Write), 200, "application/octet-stream", "\x1f\x8b"},
		{"/debug/pprof/goroutine?debug=2", h.bearer(Write), 400, "application/json", "debug"},
		{"/debug/pprof/nothing", h.bearer(Write), 404, "application/json", "goroutine"},
		{"/debug/pprof/goroutine", "", 401, "application/json", "token"},
		{"/debug/pprof/goroutine", h.bearer(Read), 403, "application/json", "write"},
	} {
		var headers []string
		if test.token != "" {
			headers = []string{"Authorization", test.token}
		}
		status, header, body := h.do("GET", test.path, "", headers...)
		if status != test.status || header.Get("Content-Type") != test.kind ||
			!strings.Contains(body, test.want) {
			t.Errorf("%s: %d %s %.200q, want %d, %s and %q", test.path, status, header.Get("Content-Type"),
				body, test.status, test.kind, test.want)
		}
	}
}
