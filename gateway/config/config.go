// Package config is what an operator may write: one table of keys from which the decoder, the JSON Schema and the documentation come,
// and the values that a file gives them.
//
// It does not know what the host does with a value. Only the wiring, the commands and the actor that applies a reload read it; every
// other package takes its own options.
package config

import (
	"net/netip"
	"time"

	"mcpd/gateway/auth"
	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/terms"
)

// Problems are all mistakes of a configuration, by position. It is the only kind of error that Load returns.
type Problems = document.Problems

// Config is a whole configuration with defaults filled in. It is never changed after it was loaded.
type Config struct {
	Listen         []string       // of the MCP listener: host:port, or unix: and a path
	Hosts          []string       // accepted in Host beside the loopback names and the listener's own
	Origins        []string       // accepted in Origin beside the listener's own
	TrustedProxies []netip.Prefix // whose X-Forwarded-For counts
	Unix           Unix
	ProxyProtocol  bool   // connections of TrustedProxies begin with a header of it
	BasePath       string // that requests may have before their path; "" or /a/b
	H2C            bool   // HTTP/2 without TLS
	TLS            TLS
	Admin          Admin
	Log            Log
	Environment    string        // development, staging, production; "" = not said
	StateDir       string        // "" = chosen by the command
	MaxBody        int64         // bytes of a request
	MaxSessions    int           // open sessions over all tenants
	Memory         int64         // bytes that the host may use; 0 = found out by the command
	Drain          time.Duration // what requests have to end once the host was told to stop
	Edge           Edge
	Limits         tenant.Limits
	Negotiation    protocol.Negotiation
	Terms          terms.Rules
	Tenants        []Tenant // in the order of the file

	Imported []Imported // servers whose name was changed
	Warnings Problems   // what can be used, and is hardly what was meant
}

// TLS names the files of the listener's certificate; both or neither.
type TLS struct{ Cert, Key string }

// Unix says who may connect to the Unix sockets of Listen.
type Unix struct {
	Mode  string // octal
	Owner string // user, user:group or :group; "" = the process's
}

// Admin is the listener for health, metrics and the supervision tree.
type Admin struct{ Listen string }

// Log says how log lines look and which are written.
type Log struct{ Format, Level string }

// Tenant is a tenant and the keys that open it. Without keys it is open to whoever reaches the listener.
type Tenant struct {
	tenant.Tenant
	Keys []auth.Key
}

// Imported says that a server of another client's configuration got a name of ours.
type Imported struct {
	Tenant, From, Name string
}

// Options are what a file means depends on beside its text.
type Options struct {
	File     string                      // its name in messages
	Env      func(string) (string, bool) // looks up a variable; nil = the environment is empty
	Builtins []string                    // the servers that `builtin` may name
	Set      []Setting                   // overrides the file
	Machine  Machine                     // where the file is to be used
}

// Machine looks up what a configuration names. What is nil is not looked up.
type Machine struct {
	Program   func(name string) error // that a command can be run
	Directory func(path string) error // that there is such a directory
	Addresses func() []netip.Addr     // that are this machine's own
}

// Setting is the value of one key from outside the file, such as a flag.
type Setting struct{ Key, Value, From string }
