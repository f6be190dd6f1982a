package admin

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

func TestScopes(t *testing.T) {
	write := func(o *Options) {
		o.Routes = []Route{{http.MethodPost, "/admin/v1/reload", Write, "",
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
			}}}
	}
	h := start(t, write)
	tests := []struct {
		name, method, path, token string
		want                      int
	}{
		{"reading on loopback", "GET", "/admin/v1/tree", "", 200},
		{"reading with a token", "GET", "/admin/v1/tree", h.bearer(Read), 200},
		{"a wrong token is refused even so", "GET", "/admin/v1/tree", "Bearer nonsense", 401},
		{"no token, empty", "GET", "/admin/v1/tree", "Bearer ", 401},
		{"another scheme", "GET", "/admin/v1/tree", "Basic eDp5", 401},
		{"probes need none", "GET", "/livez", "Bearer nonsense", 200},
		{"write without", "POST", "/admin/v1/reload", "", 401},
		{"write with read", "POST", "/admin/v1/reload", h.bearer(Read), 403},
		{"write with chaos", "POST", "/admin/v1/reload", h.bearer(Chaos), 403},
		{"write", "POST", "/admin/v1/reload", h.bearer(Write), 204},
		{"chaos without", "GET", "/admin/v1/faults", "", 401},
		{"chaos with write", "GET", "/admin/v1/faults", h.bearer(Write), 403},
		{"chaos", "GET", "/admin/v1/faults", h.bearer(Chaos), 200},
		{"chaos reads too", "GET", "/admin/v1/tree", h.bearer(Chaos), 200},
		{"scheme in lower case", "GET", "/admin/v1/faults",
			strings.Replace(h.bearer(Chaos), "Bearer", "bearer", 1), 200},
	}
	for _, test := range tests {
		var headers []string
		if test.token != "" {
			headers = []string{"Authorization", test.token}
		}
		got, header, _ := h.do(test.method, test.path, "", headers...)
		if got != test.want || (got == 401 || got == 403) != (header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %d, challenge %q, want %d", test.name, got,
				header.Get("WWW-Authenticate"), test.want)
		}
	}
}

// A wrong token gets another error than a missing token.
func TestWrongTokenIsToldFromNone(t *testing.T) {
	h := start(t, func(*Options) {})
	for token, want := range map[string][2]string{
		"": {`Bearer realm="mcpd admin"`, "a token is needed"},
		// RFC 6750 §3.1
		"Bearer nonsense": {`Bearer realm="mcpd admin", error="invalid_token"`,
			"the token is not one of this host's"},
	} {
		var headers []string
		if token != "" {
			headers = []string{"Authorization", token}
		}
		_, header, body := h.do("GET", "/admin/v1/faults", "", headers...)
		if got := header.Get("WWW-Authenticate"); got != want[0] ||
			!strings.Contains(string(body), want[1]) {
			t.Errorf("%q: %s, %s", token, got, body)
		}
	}
}

// Beyond loopback a probe learns the status word and nothing else, and reading needs a token. The
// test calls the handler directly, because it has loopback only.
func TestBeyondLoopbackReadingNeedsAToken(t *testing.T) {
	dir := t.TempDir()
	tokens, err := CreateTokens(dir, Read)
	if err != nil {
		t.Fatal(err)
	}
	if err := tokens.Publish(":1"); err != nil {
		t.Fatal(err)
	}
	token, err := ReadToken(dir, ":1", Read)
	if err != nil {
		t.Fatal(err)
	}
	handler := Handler(Options{
		Tree: func() otp.Node { return small },
		Health: func() Health {
			return Health{Phase: Serving, Checks: []Check{{Name: "tenant acme", OK: true}}}
		},
		Recorder: telemetry.NewRecorder(telemetry.Options{}),
		Tokens:   tokens,
	})
	for _, test := range []struct {
		path, token string
		want        int
		checks      bool
	}{
		{"/livez", "", 200, false},
		{"/readyz", "", 200, false},
		{"/readyz", token, 200, true},
		{"/metrics", "", 401, false},
		{"/admin/v1/tree", "", 401, false},
		{"/admin/v1/tree", token, 200, false},
	} {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{
			IP: net.IPv4(10, 0, 0, 7), Port: 7421,
		})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://10.0.0.7:7421"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.RemoteAddr = "10.0.0.9:4000"
		if test.token != "" {
			r.Header.Set("Authorization", "Bearer "+test.token)
		}
		w := &written{header: make(http.Header)}
		handler.ServeHTTP(w, r)
		if w.status != test.want || strings.Contains(w.body.String(), "acme") != test.checks {
			t.Errorf("%s with %q: %d %s, want %d, checks %v", test.path, test.token, w.status,
				w.body.String(), test.want, test.checks)
		}
	}
}

type written struct {
	header http.Header
	status int
	body   strings.Builder
}

func (w *written) Header() http.Header { return w.header }

func (w *written) WriteHeader(s int) { w.status = s }

func (w *written) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.body.Write(p)
}
