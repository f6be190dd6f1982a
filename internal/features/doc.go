// Package features tests every MCP feature between clients and servers of the official SDKs,
// directly and through mcpd, and writes the table of results docs/features.md.
//
// A cell is one client and one server, each with its transport. If client and server speak the same
// era, the client must get the same results through mcpd as directly. If they speak different eras,
// the client must get the results that a client of the same SDK in the server's era gets directly.
// A difference is allowed only by a row of the table of differences. Each row cites the clause of
// the specification, or the row of the bridge table, that requires it.
package features
