// Package scale measures a host whose one tenant has very many servers and sessions. It holds
// tests only. A thousand scripted servers come up behind the list of all servers while thousands
// of clients listen to changes, and while one client pages through the list. The tests count
// exactly what each client is told. They check bounds on times and on processor time that even a
// busy machine keeps.
//
// Every run of the tests has a short form with tens or hundreds of servers. With the flag -full
// there are a thousand servers, as in `make nightly`. With -update the tests also write
// docs/scale.md.
package scale
