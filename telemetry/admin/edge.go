package admin

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// headers are sent with every answer. No answer is meant for a page of another origin, a frame,
// or a cache.
var headers = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// edge checks every request first: the number of concurrent requests, then Host, then Origin. A
// web page that a user visits can reach loopback; its Host and Origin distinguish it.
func (h *handler) edge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		defer h.requests.Add(-1)
		switch {
		case h.requests.Add(1) > maxRequests:
			w.Header().Set("Retry-After", "1")
			problem(w, http.StatusServiceUnavailable, "too many requests at once",
				"close streams that nobody reads")
		case !h.hostAllowed(r):
			problem(w, http.StatusForbidden, "this listener does not serve that Host",
				"use its address, localhost, or a name that hosts lists in the configuration")
		case !sameOrigin(r):
			problem(w, http.StatusForbidden, "request from another origin",
				"open the page from this listener")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// hostAllowed reports whether the request names this listener: by a loopback name, by the address
// where it arrived, or by a configured name. An attacker's DNS may point any other name here.
func (h *handler) hostAllowed(r *http.Request) bool {
	host := hostname(r.Host)
	if strings.EqualFold(host, "localhost") || slices.ContainsFunc(h.Hosts, func(a string) bool {
		return strings.EqualFold(a, host)
	}) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" {
		return false
	}
	return ip.IsLoopback() || ip.Unmap() == localIP(r)
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// sameOrigin reports whether no browser says that the request comes from another page. A client
// that is not a browser sends neither header.
func sameOrigin(r *http.Request) bool {
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		strings.EqualFold(u.Host, r.Host) &&
		u.User == nil && u.Path == "" && u.RawQuery == "" && u.Fragment == ""
}

// local reports whether both ends of the connection are on this machine's loopback.
func local(r *http.Request) bool {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && remote.Addr().Unmap().IsLoopback() && localIP(r).IsLoopback()
}

// localIP returns the address at which the connection arrived, or the zero Addr if it is unknown.
func localIP(r *http.Request) netip.Addr {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return addr.AddrPort().Addr().Unmap()
}

// methods serves one path by method.
type methods map[string]http.Handler

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if next, ok := m[method]; ok {
		next.ServeHTTP(w, r)
		return
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	w.Header().Set("Allow", allowed)
	problem(w, http.StatusMethodNotAllowed, "method not allowed", "use "+allowed)
}
