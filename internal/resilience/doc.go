// Package resilience measures what is lost when a server, an actor of the host or the host itself
// dies. It holds tests only. The tests run the real binary between clients and child processes
// and look at it from outside: at answers, the log, the metrics, a profile of its goroutines and
// /proc.
//
// As part of go test ./... it runs a short form. The short form checks what must never fail, for
// example that no call is answered twice. It checks no absolute times. It compares the time of a
// recovery only with the bare start of the program that has to start again. make resilience
// FORM=short does the same for CI, without the race detector.
//
// make resilience runs the full form, with as many sessions and calls as the goals name, and also
// checks the goals. Values that are compared were measured side by side and in turns: the start
// of a server beside the start of the same program without a host, and calls during a disturbance
// beside calls without one. It prints a table and keeps the table in results.
//
// After each case the host must hold what it held before: processes, descriptors, sessions,
// subscriptions and goroutines. See uncounted for the goroutines that are not counted. Servers
// behind npx are included where npx is installed.
package resilience
