// Package gateway measures what mcpd adds to a call: beside a call made directly, beside net/http's reverse proxy, and beside relays that
// do as little as can be done. All of them are processes of their own, and the load is made in another.
package gateway

import "mcpd/bench/kit"

// Names of the roles.
const (
	echoRole       = "echo"        // the server over HTTP; its argument is newEcho's
	echoStdioRole  = "echo-stdio"  // the same as a program
	proxyRole      = "proxy"       // its argument is the URL of the server
	relayRole      = "relay"       // likewise
	relayStdioRole = "relay-stdio" // its argument is that of the program
)

// Roles are the processes beside mcpd.
var Roles = []kit.Role{
	{Name: echoRole, Serve: serveEcho},
	{Name: echoStdioRole, Stdio: echoStdio},
	{Name: proxyRole, Serve: serveProxy},
	{Name: relayRole, Serve: serveRelay},
	{Name: relayStdioRole, Serve: serveRelayStdio},
}

// Scenarios are those of this package, in their order.
var Scenarios = []kit.Scenario{callStdio, callHTTP, callEras, callServers, callPayload, callForms, callPaced, list, fanOut}
