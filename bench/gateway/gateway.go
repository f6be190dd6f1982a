// Package gateway measures the cost that mcpd adds to a call. It compares mcpd with a direct call,
// with net/http's reverse proxy, and with relays that do the least possible. Each of them is a
// process of its own, and the load comes from another process.
package gateway

import "mcpd/bench/kit"

// Names of the roles.
const (
	proxyRole      = "proxy"       // its argument is the URL of the server
	relayRole      = "relay"       // likewise
	relayStdioRole = "relay-stdio" // its argument is that of the program
)

// Roles are the processes besides mcpd.
var Roles = []kit.Role{
	{Name: proxyRole, Serve: serveProxy},
	{Name: relayRole, Serve: serveRelay},
	{Name: relayStdioRole, Serve: serveRelayStdio},
}

// Scenarios are the scenarios of this package, in the order in which they are run.
var Scenarios = []kit.Scenario{
	callStdio, callHTTP, callHeap, callEras, callServers, callPayload, callForms, callPaced, list,
	fanOut,
}
