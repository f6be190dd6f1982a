package streamable

import (
	"context"
	"net/http"
)

// byTLS is the context key for the scheme with which a client called a trusted proxy.
type byTLS struct{}

// WithScheme returns the request with the statement of a trusted proxy about its client: https is
// true if the client used https.
func WithScheme(r *http.Request, https bool) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), byTLS{}, https))
}

// secure reports whether the client of a request used https.
func secure(r *http.Request) bool {
	if https, said := r.Context().Value(byTLS{}).(bool); said {
		return https
	}
	return r.TLS != nil
}

// schemeOf returns the scheme that the client of a request used.
func schemeOf(r *http.Request) string {
	if secure(r) {
		return "https"
	}
	return "http"
}
