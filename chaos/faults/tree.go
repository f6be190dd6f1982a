package faults

import "strings"

// Tree is the rows of a host at one time, each after its parent.
type Tree []Row

// Row holds the fields of a row of the supervision tree that faults need.
type Row struct {
	Path   string // from the root, as "mcpd/tenants/acme/catalog"
	Type   string // worker or supervisor
	Status string // running, restarting, …
	State  string // of a server: idle, ready, …
	// Link says how a server is reached; stdio is a process that the host starts. It is empty where
	// the host does not say.
	Link        string
	Server      string // of a server's connection: the server's name
	PID         int    // of a server that is a child process; 0 when it has no process
	Restarts    int
	Incarnation int
	Mailbox     int
}

// tenants is the path prefix of the rows of all tenants.
const tenants = "mcpd/tenants/"

// TenantPath returns the path of a tenant's row.
func TenantPath(tenant string) string { return tenants + tenant }

// ServersPath returns the path of the parent row of a tenant's servers.
func ServersPath(tenant string) string { return TenantPath(tenant) + "/client_sup" }

// ServerPath returns the path of the row of a tenant's server.
func ServerPath(tenant, server string) string { return ServersPath(tenant) + "/" + server }

// Tenants returns the names of the tenants, in the tree's order.
func (t Tree) Tenants() []string {
	var names []string
	for _, r := range t {
		if name, ok := strings.CutPrefix(r.Path, tenants); ok && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

// Servers returns the names of a tenant's servers, in the tree's order.
func (t Tree) Servers(tenant string) []string {
	return t.servers(tenant, func(Row) bool { return true })
}

// Programs returns the names of a tenant's servers that are processes which the host starts.
func (t Tree) Programs(tenant string) []string {
	return t.servers(tenant, func(r Row) bool { return r.Link == "" || r.Link == "stdio" })
}

func (t Tree) servers(tenant string, are func(Row) bool) []string {
	var names []string
	for _, r := range t {
		if name, ok := strings.CutPrefix(r.Path, ServerPath(tenant, "")); ok &&
			!strings.Contains(name, "/") && are(r) {
			names = append(names, name)
		}
	}
	return names
}

// Children returns the rows of a tenant's server that have a process, in the tree's order.
func (t Tree) Children(tenant, server string) []Row {
	var rows []Row
	for _, r := range t {
		if r.PID > 0 && strings.HasPrefix(r.Path, ServerPath(tenant, server)+"/") {
			rows = append(rows, r)
		}
	}
	return rows
}

// Paths returns the paths of all rows.
func (t Tree) Paths() []string {
	paths := make([]string, len(t))
	for i, r := range t {
		paths[i] = r.Path
	}
	return paths
}

// Reaches reports whether a pattern can match a path or anything below it.
func Reaches(pattern, path string) bool {
	for {
		step, rest, more := strings.Cut(pattern, "/")
		is, below, deeper := strings.Cut(path, "/")
		switch {
		case step == "**" && !more:
			return true
		case step != "*" && step != is:
			return false
		case !deeper:
			return true
		case !more:
			return false
		}
		pattern, path = rest, below
	}
}

// Match reports whether a path matches a pattern. In the pattern * stands for one step, and ** at
// the end for any number of steps, including none.
func Match(pattern, path string) bool {
	for {
		if pattern == "**" {
			return true
		}
		step, rest, more := strings.Cut(pattern, "/")
		is, below, deeper := strings.Cut(path, "/")
		if step != "*" && step != is {
			return false
		}
		if !more || !deeper {
			return !more && !deeper || !deeper && rest == "**"
		}
		pattern, path = rest, below
	}
}
