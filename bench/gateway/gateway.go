// Package gateway measures what mcpd adds to a call: beside a call made directly, beside net/http's reverse proxy, and beside relays that
// do as little as can be done. All of them are processes of their own, and the load is made in another.
package gateway

import "mcpd/bench/kit"

// Names of the roles.
const (
	proxyRole      = "proxy"       // its argument is the URL of the server
	relayRole      = "relay"       // likewise
	relayStdioRole = "relay-stdio" // its argument is that of the program
)

// Roles are the processes beside mcpd.
var Roles = []kit.Role{
	{Name: proxyRole, Serve: serveProxy},
	{Name: relayRole, Serve: serveRelay},
	{Name: relayStdioRole, Serve: serveRelayStdio},
}

// Scenarios are those of this package, in their order.
var Scenarios = []kit.Scenario{callStdio, callHTTP, callHeap, callEras, callServers, callPayload, callForms, callPaced, list, fanOut}
