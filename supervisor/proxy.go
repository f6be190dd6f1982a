package supervisor

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"mcpd/transport/streamable"
)

// behindProxies puts the client's address where a request that came through trusted proxies has the proxy's. Each of them adds, at the end of
// X-Forwarded-For, whom it heard from; what a client wrote there itself comes before and is not believed.
func behindProxies(proxies func() []netip.Prefix, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, unproxied(proxies(), r)) })
}

// unproxied is the request with the address of its client.
func unproxied(trusted []netip.Prefix, r *http.Request) *http.Request {
	believed := func(a netip.Addr) bool { return among(trusted, a) }
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !believed(from.Addr()) {
		return r
	}
	client := from.Addr()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		a, ok := address(strings.TrimSpace(hop))
		if !ok {
			break
		}
		if client = a; !believed(a) {
			break
		}
	}
	if proto := r.Header.Get("X-Forwarded-Proto"); proto != "" {
		first, _, _ := strings.Cut(proto, ",") // what the first of several proxies heard
		r = streamable.WithScheme(r, strings.EqualFold(strings.TrimSpace(first), "https"))
	} else {
		r = r.WithContext(r.Context()) // a copy: the request is net/http's
	}
	r.RemoteAddr = net.JoinHostPort(client.String(), "0")
	return r
}

// address is a hop of X-Forwarded-For. Some balancers add the port, and brackets to IPv6.
func address(hop string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return a, true
	}
	ap, err := netip.ParseAddrPort(hop)
	return ap.Addr(), err == nil
}

// among reports whether an address is of one of the networks.
func among(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}
