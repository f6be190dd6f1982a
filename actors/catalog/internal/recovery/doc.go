// Package recovery knows which connections to one server have failed, why, and when they are tried
// again. It holds a connection back, and has its callers refused, in these cases:
//
//	a connection                  is held back
//	was given up                  for a pause, which doubles with each further failure
//	was given up too often        until a probe succeeds: one caller at a time, after longer pauses
//	cannot work for anyone        as above, with all connections to its server, or until an
//	                              operator releases the server
//	finds its URL unreachable     until one connection, which dials for all, reaches it
//
// The package has no clock, no process and no list of connections. The caller passes in the time,
// the state of a connection and the event. The package returns what to do.
package recovery
