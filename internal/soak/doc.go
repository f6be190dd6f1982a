// Package soak runs one host for a long time under everything that happens to hosts. It holds tests
// only. Official SDK clients of several tenants call published servers and counting servers without
// a pause, each call with a nonce, while a seeded list of events kills, stops, restarts, reloads,
// floods and fills the disk, of servers and of the host itself.
//
// Afterwards the outcomes of all calls, the ledgers of the counting servers and the list of events
// are judged together: no answer is another call's, no call is without outcome, no effect happens
// twice, each error is true and explained by an event. The host then rests, and must hold no more
// than it held before the first event; each event may cost three lines of its log.
//
// Every run of the tests has a short form. `make soak` is the full one and writes docs/soak.md.
package soak
