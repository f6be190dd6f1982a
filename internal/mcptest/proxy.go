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

// Proxy is an HTTP proxy on loopback. It alone knows where the hosts of a test are.
type Proxy struct {
	// Authorization is what it wants as Proxy-Authorization; empty for nothing.
	Authorization string
	// Status is what it answers everything with; 0 to do what it is asked.
	Status int

	hosts map[string]string // where host:port is
	mu    sync.Mutex
	seen  []string
}

// NewProxy starts one, at that URL. Hosts says where each host:port is.
func NewProxy(t testing.TB, hosts map[string]string) (p *Proxy, url string) {
	t.Helper()
	p = &Proxy{hosts: hosts}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
}

// Seen are the methods and hosts that it was asked for, each once.
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

// ServeHTTP does what a client of the proxy asks for.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if what := r.Method + " " + r.Host; !slices.Contains(p.seen, what) {
		p.seen = append(p.seen, what)
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
		(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Host = to }}).ServeHTTP(w, r)
	}
}

// tunnel carries bytes both ways until one end closes.
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
