// Package parity compares a connection through mcpd with a direct one: it holds tests only. The
// clients of the official SDKs survey published servers three ways: directly, through /SERVER/mcp,
// and through the aggregate of one tenant that has all of them. What they see is compared member
// by member, and every difference needs a row in the table of rules that says why it is right.
//
// Six servers are surveyed by every run of the tests, all of them with the flag -full, as
// `make parity` does. The servers and clients come from the npm registry once; after that all
// traffic stays on this machine, on Linux in a network namespace without any other interface.
package parity
