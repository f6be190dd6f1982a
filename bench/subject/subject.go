// Package subject has the processes that several scenarios measure, as roles: a whole host, and as
// a reference a minimal server, over HTTP and as a program. It also has a client for hosts in the
// same process. It knows no scenario.
package subject

import (
	"strconv"
	"strings"

	"mcpd/bench/kit"
)

// Names of the roles.
const (
	Host      = "host"       // its argument is the text of a configuration
	Echo      = "echo"       // the server over HTTP; its argument is newEcho's
	EchoStdio = "echo-stdio" // the same as a program
	// Bare is a legacy server over HTTP that holds streams open. Its argument is its address; the
	// default is any port.
	Bare = "bare"
)

// Roles are the roles of this package.
var Roles = []kit.Role{
	{Name: Host, Serve: serveHost},
	{Name: Echo, Serve: serveEcho},
	{Name: EchoStdio, Stdio: echoStdio},
	{Name: Bare, Serve: serveBare},
}

// Command returns the members command and args of a server in a host's configuration, for a role
// that is a program.
func Command(role, argument string) (string, error) {
	program, args, err := kit.RoleCommand(role, argument)
	for i := range args {
		args[i] = strconv.Quote(args[i])
	}
	return "command: " + strconv.Quote(program) + ", args: [" + strings.Join(args, ", ") + "]", err
}
