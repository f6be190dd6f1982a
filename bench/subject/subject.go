// Package subject is the processes that several scenarios measure, as roles: a whole host, and beside it a server as small as one can be, over HTTP and
// as a program. And what they are asked by who is in the same process. It knows no scenario.
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
	Bare      = "bare"       // a legacy one over HTTP that holds streams; its argument is where it listens, by default on any port
)

// Roles are those of this package.
var Roles = []kit.Role{
	{Name: Host, Serve: serveHost},
	{Name: Echo, Serve: serveEcho},
	{Name: EchoStdio, Stdio: echoStdio},
	{Name: Bare, Serve: serveBare},
}

// Command is a role that is a program as a server of a host's configuration names it: its members command and args.
func Command(role, argument string) (string, error) {
	program, args, err := kit.RoleCommand(role, argument)
	for i := range args {
		args[i] = strconv.Quote(args[i])
	}
	return "command: " + strconv.Quote(program) + ", args: [" + strings.Join(args, ", ") + "]", err
}
