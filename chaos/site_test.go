package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"mcpd/internal/mcptest"
)

// If a server behind a URL has forgotten its sessions, the host initializes it once, however many
// calls it has refused, and then repeats these calls.
func TestForgottenSessionIsRenewedOnce(t *testing.T) {
	to, err := url.Parse(site(t, mcptest.Mcpd(t), filepath.Join(t.TempDir(), "site")))
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
	}}
	var greeted, refused atomic.Int64
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.StatusCode == http.StatusNotFound {
			refused.Add(1)
		}
		return nil
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"initialize"`)) {
			greeted.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections) // of standing streams
	a := open(t, fmt.Sprintf("web: {url: %q}", s.URL+to.Path))
	c, _ := a.client(acme, nil)
	a.must(c, "web__echo", map[string]any{"message": "first"})
	const times, at = 5, 20
	for n := range times {
		before := greeted.Load()
		a.must(c, "web__misbehave", map[string]any{"fault": "http_forget", "for": "1s"})
		var calls sync.WaitGroup
		for i := range at {
			calls.Go(func() {
				text := fmt.Sprint(n, i)
				if r, err := a.call(c, "web__echo", map[string]any{"message": text}); err != nil ||
					mcptest.Text(t, r) != text {
					t.Errorf("call %s: %v, %v", text, r, err)
				}
			})
		}
		calls.Wait()
		a.eventually("greeted again", func() bool { return greeted.Load() > before })
		if got := greeted.Load() - before; got != 1 {
			t.Errorf("the server was greeted %d times for a session that it forgot", got)
		}
	}
	if refused.Load() < times {
		t.Errorf("%d requests were refused", refused.Load())
	}
}
