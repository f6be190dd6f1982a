// Package resilience measures what is lost when something dies: a server, an actor of the host, the host itself. It holds tests only. The
// real binary stands between clients and child processes, and is looked at from outside: answers, the log, the metrics, a profile of its
// goroutines and /proc.
//
// As part of go test ./... it runs a short form, which holds what must never fail, such as a call that is answered twice, and no time
// but by its ratio: a recovery beside the bare start of the program that has to be started again, as make resilience FORM=short does
// for CI, without the race detector.
// make resilience runs the full form, with as many sessions and calls as the goals speak of, and holds the goals too. What is compared was
// measured side by side and in turns: the start of a server beside the start of the same program without a host, calls beside a trouble
// beside calls without one. It prints a table and keeps it in results.
//
// After each case the host holds what it held before, to the process, descriptor, session, subscription and goroutine; see passing for the
// goroutines that are not counted. Servers behind npx are part of it where there is npx.
package resilience
