package mcptest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"sync"
	"testing"
)

// Proxy is an HTTP proxy on loopback. It resolves the host names of a test, which are unknown
// elsewhere.
type Proxy struct {
	// Authorization is the required Proxy-Authorization; empty requires none.
	Authorization string
	// Status is the status of every response; 0 serves requests normally.
	Status int

	hosts map[string]string // the address of each host:port
	mu    sync.Mutex
	seen  []string
}

// NewProxy starts a proxy and returns its URL. The map hosts has the real address of each
// host:port.
func NewProxy(t testing.TB, hosts map[string]string) (p *Proxy, url string) {
	t.Helper()
	p = &Proxy{hosts: hosts}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
}

// Seen returns the requested methods and hosts, each once.
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// ServeHTTP serves a request of a client of the proxy.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if label := r.Method + " " + r.Host; !slices.Contains(p.seen, label) {
		p.seen = append(p.seen, label)
	}
	p.mu.Unlock()
	to, known := p.hosts[r.Host]
	switch {
	case p.Authorization != "" && r.Header.Get("Proxy-Authorization") != p.Authorization:
		w.WriteHeader(http.StatusProxyAuthRequired)
	case p.Status != 0:
		w.WriteHeader(p.Status)
	case !known:
		w.WriteHeader(http.StatusBadGateway)
	case r.Method == http.MethodConnect:
		tunnel(w, to)
	default:
		(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Host = to
		}}).ServeHTTP(w, r)
	}
}

// tunnel copies bytes in both directions until one end closes.
func tunnel(w http.ResponseWriter, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, rest, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	done := make(chan struct{})
	go func() { // owner: the request, which waits for it
		defer close(done)
		_, _ = io.Copy(server, rest)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
	client.Close()
	<-done
}
