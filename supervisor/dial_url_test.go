package supervisor

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/internal/mcptest"
	"mcpd/transport/streamable"
)

// The proxy of a server is the configured one, otherwise that of the environment.
func TestProxyForAServer(t *testing.T) {
	of := func(text string, err error) func(*http.Request) (*url.URL, error) {
		return func(r *http.Request) (*url.URL, error) {
			if text == "" || r.URL.Host != "a.test" {
				return nil, err
			}
			u, _ := url.Parse(text)
			return u, err
		}
	}
	for _, c := range []struct {
		configured, environment string
		err                     error
		want                    string
	}{
		{"", "", nil, ""},
		{"", "http://env:1", nil, "http://env:1"},
		{"direct", "http://env:1", nil, ""},
		{"http://u:p@own:1", "http://env:1", nil, "http://u:p@own:1"},
		{"socks5://own:1", "", errors.New("bad"), "socks5://own:1"},
		{"", "", errors.New("invalid proxy address http://u:secret@"),
			"HTTPS_PROXY or HTTP_PROXY is not the URL of a proxy"},
	} {
		proxy, err := proxyFor("https://a.test/mcp", c.configured, of(c.environment, c.err))
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// The file of certificates is read again for each connection, and its problems are reported.
func TestRouteReadsItsCertificatesAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	r := &route{url: "https://a.test/mcp", proxy: "direct", ca: file, pools: &transports{}}
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrong := func(want string) {
		t.Helper()
		_, err := r.transport()
		if o, ok := streamable.ObstacleOf(err); !ok || o.Cause != streamable.CauseCertificate ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v (%+v), want %s", err, o, want)
		}
	}
	wrong("no such file")
	write([]byte("none"))
	wrong("it contains no certificate")
	write(make([]byte, maxCA+1))
	wrong("larger than 1 MiB")
	write(mcptest.NewAuthority(t).PEM())
	first, err := r.transport()
	if again, _ := r.transport(); err != nil || again != first {
		t.Errorf("the connections are not kept: %v", err)
	}
	write(mcptest.NewAuthority(t).PEM())
	if other, err := r.transport(); err != nil || other == first {
		t.Errorf("other certificates are not read: %v", err)
	}
}
