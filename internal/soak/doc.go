// Package soak runs one host for a long time under all kinds of failures. It holds tests only.
// Official SDK clients of several tenants call published servers and counting servers without a
// pause, each call with a nonce. Meanwhile a seeded list of events kills, stops, restarts,
// reloads and floods servers and the host itself, and fills the disk.
//
// Afterwards the outcomes of all calls, the ledgers of the counting servers and the list of
// events are judged together. No answer may be that of another call, no call may lack an outcome,
// and no effect may happen twice. Each error must be true, and an event must explain it. The host
// then rests, and must hold no more than it held before the first event. Each event may cost
// three lines of the host's log.
//
// Every run of the tests has a short form. `make soak` runs the full form and writes
// docs/soak.md.
package soak
