// Package oddclients sends unusual requests of clients and proxies to a running host, byte by byte,
// and compares the answers with the expected ones. docs/odd-clients.gen.md shows its table.
package oddclients

//go:generate go test -count=1 -run=TestOddClientsPage -update
