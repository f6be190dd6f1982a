// Package scale measures a host whose one tenant has very many servers and sessions: it holds tests
// only. A thousand scripted servers come up behind the list of all servers while thousands of
// clients listen to changes, and while one client pages through the list. The tests count what each
// client is told, exactly, and hold bounds on times and on processor time that a busy machine
// keeps.
//
// Every run of the tests has a short form of some tens of servers. With the flag -full it is a
// thousand, as `make nightly` runs it; with -update it also writes docs/scale.md.
package scale
