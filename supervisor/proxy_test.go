package supervisor

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// The client's address is taken only from what trusted proxies say.
func TestOnlyTrustedProxiesSayWhoTheClientIs(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, c := range []struct{ name, from, forwarded, want string }{
		{"no proxy", "192.0.2.1:5", "198.51.100.7", "192.0.2.1:5"},
		{"a proxy", "10.1.1.1:5", "198.51.100.7", "198.51.100.7:0"},
		{"two proxies", "10.1.1.1:5", "198.51.100.7, 10.2.2.2", "198.51.100.7:0"},
		{"a client that lies", "10.1.1.1:5", "203.0.113.9, 198.51.100.7", "198.51.100.7:0"},
		{"a proxy that says nothing", "10.1.1.1:5", "", "10.1.1.1:0"},
		{"nonsense", "10.1.1.1:5", "unknown", "10.1.1.1:0"},
		{"IPv6", "[::1]:5", "2001:db8::1", "[2001:db8::1]:0"},
		{"an address with a port", "10.1.1.1:5", "198.51.100.7:51234", "198.51.100.7:0"},
		{"IPv6 with a port", "10.1.1.1:5", "[2001:db8::1]:443, 10.2.2.2:80", "[2001:db8::1]:0"},
		{"IPv6 in brackets", "10.1.1.1:5", "[2001:db8::1]", "[2001:db8::1]:0"},
		{"a port that is none", "10.1.1.1:5", "198.51.100.7:http", "10.1.1.1:0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			h := behindProxies(func() []netip.Prefix {
				return trusted
			}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }))
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.RemoteAddr = c.from
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
