package streamable

import (
	"context"
	"net/http"
)

// byTLS is the key of a request's context that says how its client asked a proxy.
type byTLS struct{}

// WithScheme is the request with what a trusted proxy says of it: whether the client spoke https to
// the proxy.
func WithScheme(r *http.Request, https bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), byTLS{}, https))
}

// secure reports whether the client of a request spoke https.
func secure(r *http.Request) bool {
	if https, said := r.Context().Value(byTLS{}).(bool); said {
		return https
	}
	return r.TLS != nil
}

// schemeOf is the scheme that the client of a request spoke.
func schemeOf(r *http.Request) string {
	if secure(r) {
		return "https"
	}
	return "http"
}
