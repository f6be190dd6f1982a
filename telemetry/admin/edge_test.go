package admin

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// A page in a browser on this machine must not read or change anything, neither by DNS rebinding
// nor across origins.
func TestHostAndOriginAreChecked(t *testing.T) {
	h := start(t, nil)
	addr := strings.TrimPrefix(h.url, "http://")
	tests := []struct {
		name    string
		headers []string
		want    int
	}{
		{"plain client", nil, 200},
		{"localhost", []string{"Host", "localhost:7421"}, 200},
		{"upper case", []string{"Host", "LOCALHOST"}, 200},
		{"configured name", []string{"Host", "mcpd.internal:80"}, 200},
		{"IPv6 loopback", []string{"Host", "[::1]:7421"}, 200},
		{"foreign name", []string{"Host", "evil.example.com"}, 403},
		{"foreign name with our port", []string{"Host", "evil.example.com:7421"}, 403},
		{"loopback as a prefix", []string{"Host", "127.0.0.1.evil.example.com"}, 403},
		{"trailing dot", []string{"Host", "localhost."}, 403},
		{"another address", []string{"Host", "10.0.0.1"}, 403},
		{"zone", []string{"Host", "[fe80::1%25lo]:80"}, 403},
		{"own origin", []string{"Origin", h.url}, 200},
		{"foreign origin", []string{"Origin", "http://evil.example.com"}, 403},
		{"null origin", []string{"Origin", "null"}, 403},
		{"origin with another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"origin as a prefix", []string{"Origin", h.url + ".evil.example.com"}, 403},
		{"origin with a user", []string{"Origin", "http://x@" + addr}, 403},
		{"two origins", []string{"Origin", h.url, "Origin", h.url}, 403},
		{"empty origin", []string{"Origin", ""}, 403},
		{"cross-site fetch", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"same-site fetch", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"typed by the user", []string{"Sec-Fetch-Site", "none"}, 200},
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/admin/v1/tree",
		"/admin/v1/sessions", "/admin/v1/events"} {
		for _, test := range tests {
			got, header, _ := h.do(http.MethodGet, path, "", test.headers...)
			if got != test.want {
				t.Errorf("%s, %s: status %d, want %d", path, test.name, got, test.want)
			}
			for name, value := range headers {
				if header.Get(name) != value {
					t.Errorf("%s, %s: %s is %q, want %q", path, test.name, name, header.Get(name), value)
				}
			}
		}
	}
}

func TestMethodsAndPaths(t *testing.T) {
	h := start(t, nil)
	tests := []struct {
		method, path string
		want         int
		allow        string
	}{
		{"POST", "/admin/v1/tree", 405, "GET"},
		{"PUT", "/admin/v1/faults", 405, "DELETE, GET, POST"},
		{"GET", "/admin/v1/faults/fault-1", 405, "DELETE"},
		{"HEAD", "/livez", 200, ""},
		{"GET", "/nothing", 404, ""},
		{"GET", "//evil.example.com", 404, ""},
		{"GET", "/admin/v1/tree/", 404, ""},
		{"GET", "/admin/v1/tree?all=maybe", 400, ""},
		{"GET", "/admin/v1/tree?watch=maybe", 400, ""},
		{"GET", "/admin/v1/events?after=yesterday", 400, ""},
		{"GET", "/admin/v1/sessions?limit=0", 400, ""},
		{"GET", "/admin/v1/sessions?limit=1000000", 400, ""},
	}
	for _, test := range tests {
		status, header, answer := h.do(test.method, test.path, "")
		if status != test.want || header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d, Allow %q, want %d, %q", test.method, test.path, status, header.Get("Allow"),
				test.want, test.allow)
		}
		if status >= 400 {
			var p mcpdv1.Problem
			if err := protojson.Unmarshal([]byte(answer), &p); err != nil ||
				p.GetStatus() != uint32(status) || p.GetError() == "" || p.GetHint() == "" {
				t.Errorf("%s %s: body %s, want a problem and what to do about it", test.method,
					test.path, answer)
			}
		}
	}
}

// GET / lists every route with its scope and its description.
func TestIndexListsTheRoutes(t *testing.T) {
	h := start(t, nil)
	_, _, answer := h.do(http.MethodGet, "/", "")
	for _, r := range (&handler{}).routes() {
		if r.Description == "" || !strings.Contains(answer, r.Description) ||
			!strings.Contains(answer, strings.TrimSuffix(r.Path, "{$}")) {
			t.Errorf("%s %s is not in the list:\n%s", r.Method, r.Path, answer)
		}
	}
}
