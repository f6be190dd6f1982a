// Package resilience measures what is lost when something dies: a server, an actor of the host, the host itself. It holds tests only. The
// real binary stands between clients and child processes, and is looked at from outside: answers, the log, the metrics and /proc.
//
// As part of go test ./... it runs a short form, which holds what must never fail, such as a call that is answered twice, and no time.
// make resilience runs the full form, with as many sessions and calls as the goals speak of, and holds the goals too.
package resilience
