// Package recovery knows which connections to one server have failed, why, and when they are tried
// again.
//
//	a connection                    is left alone, and its callers are refused
//	was given up                    for a pause that doubles while that happens again
//	was given up too often          until one caller at a time, after longer pauses, finds it well
//	cannot work for anybody         so, with all others to its server; or until an operator says so
//	reaches nobody at its URL       until one of them, which dials for all, does
//
// It knows no clock, no process, and not which connections there are: it is told the time, what is
// seen of a connection, and what happened, and returns what to do.
package recovery
