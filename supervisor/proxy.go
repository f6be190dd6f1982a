package supervisor

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"mcpd/transport/streamable"
)

// behindProxies replaces the proxy's address by the client's in requests that came through trusted
// proxies. Each proxy appends to X-Forwarded-For the address that it heard from. Addresses that a
// client wrote there itself come before these and are ignored.
func behindProxies(proxies func() []netip.Prefix, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, unproxied(proxies(), r))
	})
}

// unproxied returns the request with the address of its client.
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
		first, _, _ := strings.Cut(proto, ",") // from the first of several proxies
		r = streamable.WithScheme(r, strings.EqualFold(strings.TrimSpace(first), "https"))
	} else {
		r = r.WithContext(r.Context()) // a copy: net/http owns the request
	}
	r.RemoteAddr = net.JoinHostPort(client.String(), "0")
	return r
}

// address parses a hop of X-Forwarded-For. Some load balancers add the port, and brackets around
// IPv6.
func address(hop string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return a, true
	}
	ap, err := netip.ParseAddrPort(hop)
	return ap.Addr(), err == nil
}

// among reports whether an address is in one of the networks.
func among(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
}
