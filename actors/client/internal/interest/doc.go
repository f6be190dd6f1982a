// Package interest knows what the sessions of one connection want to be told by its server unasked:
// of which resources, and log lines from which level on. The server is asked once for all of them.
//
//	session                      interest                  server
//	intent: a, info   ---------->            ---------->  logging/setLevel, resources/subscribe
//	                                       <----------  their results
//	granted         <----------
//	leaves          ---------->            ---------->  resources/unsubscribe
//
// The package knows no clock, no connection and no transport: it is told the time, what is known of
// the server, and what happened, and returns what to do. One request at a time is open for each
// resource, and one for the log level, because two over HTTP may overtake each other. So a client
// that changes its mind without end is followed no faster than its server answers.
package interest
