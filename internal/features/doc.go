// Package features tries every feature of MCP between clients and servers of the official SDKs,
// directly and through mcpd, and writes the table of what came of it: docs/features.md.
//
// A cell is one client, one server and one way to each. Where both speak the same era the client
// must see what it sees directly. Where they do not, it must see what a client of the same SDK in
// the era of the server sees directly. Differences are right only where a row says so, and cites
// the clause of the specification or the row of the bridge table that has it so.
package features
