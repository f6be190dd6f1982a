// Package interest knows what the sessions of one connection want to hear from its server unasked:
// of which resources, and how severe log lines. The server is asked once for all of them.
//
//	session                      interest                  server
//	wish: a, info   ──────────▶            ──────────▶  logging/setLevel, resources/subscribe
//	                                       ◀──────────  their results
//	granted         ◀──────────
//	leaves          ──────────▶            ──────────▶  resources/unsubscribe
//
// It knows no clock, no connection and no transport: it is told the time, what is known of the
// server, and what happened, and returns what to do. There is one request for a resource at a time,
// and one for the log level: two over HTTP may overtake each other, and a client that changes its
// mind without end is followed no faster than its server answers.
package interest
