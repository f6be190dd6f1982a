// Package parity compares a connection through mcpd with a direct one. It holds only tests. The
// clients of the official SDKs survey published servers three ways: directly, through /SERVER/mcp,
// and through the aggregate of one tenant that has all of the servers. The tests compare the
// results member by member. Every difference needs a row in the table of rules that says why it is
// correct.
//
// Each run of the tests surveys six servers. The flag -full surveys all of them, as `make parity`
// does. The npm registry delivers the servers and clients once. After that all traffic stays on
// this machine. On Linux the tests run in a network namespace that has no interface except
// loopback.
package parity
