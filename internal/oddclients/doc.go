// Package oddclients sends a running host what odd clients and proxies send, byte by byte, and
// compares what comes back with what is right. docs/odd-clients.gen.md is its table.
package oddclients

//go:generate go test -count=1 -run=TestOddClientsPage -update
