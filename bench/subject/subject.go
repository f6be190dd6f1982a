// Package subject is the processes that several scenarios measure, as roles: a whole host, and a bare net/http server beside it. It knows no
// scenario.
package subject

import "mcpd/bench/kit"

// Names of the roles.
const (
	Host = "host" // its argument is the text of a configuration
	Bare = "bare" // its argument is where it listens, by default on any port
	// Program is the bare server as a program, which a host starts.
	Program = "bare-program"
)

// Roles are those of this package.
var Roles = []kit.Role{{Name: Host, Serve: serveHost}, {Name: Bare, Serve: serveBare}, {Name: Program, Stdio: bareStdio}}
