// Package config defines the configuration of a host. One table of keys is the source of the
// decoder, the JSON Schema and the documentation.
//
// It does not know what the host does with a value. Only the wiring, the commands and the actor
// that applies a reload read the configuration. Every other package takes its own options.
package config

import (
	"net/netip"
	"time"

	"mcpd/gateway/auth"
	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/negotiation"
)

// Problems are all mistakes of a configuration, in the order of their positions. It is the only
// type of error that Load returns.
type Problems = document.Problems

// Config is a whole configuration with defaults filled in. It is immutable after loading.
type Config struct {
	Listen []string // of the MCP listener: host:port, or unix: and a path
	// Hosts are accepted in Host beside the loopback names and the listener's own names.
	Hosts []string
	// Origins are accepted in Origin beside the listener's own.
	Origins []string
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	Unix           Unix
	// ProxyProtocol says that connections of TrustedProxies begin with a PROXY header.
	ProxyProtocol bool
	// BasePath is an optional prefix of request paths: "" or /a/b.
	BasePath string
	H2C      bool // HTTP/2 without TLS
	TLS      TLS
	Admin    Admin
	Log      Log
	// Environment is development, staging or production; "" if not set.
	Environment string
	StateDir    string // "" if the command chooses
	MaxBody     int64  // bytes of a request
	MaxSessions int    // open sessions of all tenants
	// Memory is how many bytes the host may use; 0 if the command finds out.
	Memory int64
	// Drain is how long requests may take to end after the host was told to stop.
	Drain            time.Duration
	Edge             Edge
	Limits           tenant.Limits
	Negotiation      protocol.Negotiation
	NegotiationRules negotiation.Rules
	Tenants          []Tenant // in the order of the file

	Imported []Imported // servers whose name was changed
	// Warnings are about settings that are valid but probably unintended.
	Warnings Problems
}

// TLS names the files of the listener's certificate. Either both are set or neither.
type TLS struct{ Cert, Key string }

// Unix says who may connect to the Unix sockets of Listen.
type Unix struct {
	Mode string // octal
	// Owner is user, user:group or :group; "" for the owner of the process.
	Owner string
}

// Admin is the listener for health, metrics and the supervision tree.
type Admin struct{ Listen string }

// Log selects the format and the lowest level of log lines.
type Log struct{ Format, Level string }

// Tenant is a tenant and its keys. Without keys it is open to every caller that reaches the
// listener.
type Tenant struct {
	tenant.Tenant
	Keys []auth.Key
}

// Imported says that a server of another client's configuration received a new name.
type Imported struct {
	Tenant, From, Name string
}

// Options are the inputs of a load beside the text of the file.
type Options struct {
	// File is the name of the file in messages.
	File string
	// Env looks up a variable; nil for an empty environment.
	Env      func(string) (string, bool)
	Builtins []string  // the servers that `builtin` may name
	Set      []Setting // overrides the file
	Machine  Machine   // the machine that will use the configuration
}

// Machine looks up what a configuration names. Nil functions are not called.
type Machine struct {
	Program   func(name string) error // checks that a command can be run
	Directory func(path string) error // checks that a directory exists
	Addresses func() []netip.Addr     // returns the addresses of this machine
}

// Setting is the value of one key from outside the file, such as a flag.
type Setting struct{ Key, Value, From string }
