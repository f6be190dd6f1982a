package faults

import "strings"

// Tree is the rows of a host at one time, each after its parent.
type Tree []Row

// Row is as much of a row of the supervision tree as faults need.
type Row struct {
	Path        string // from the root, as "mcpd/tenants/acme/catalog"
	Type        string // worker or supervisor
	Status      string // running, restarting, …
	State       string // of a server: idle, ready, …
	Link        string // of a server: how it is reached, stdio being a process that the host starts; "" where the host does not say
	Server      string // of a server's connection: its name
	PID         int    // of a server that is a child process: its process, 0 when it has none
	Restarts    int
	Incarnation int
	Mailbox     int
}

// tenants is the row below which every tenant has one.
const tenants = "mcpd/tenants/"

// TenantPath is the path of a tenant's row.
func TenantPath(tenant string) string { return tenants + tenant }

// ServersPath is the row that a tenant's servers are below.
func ServersPath(tenant string) string { return TenantPath(tenant) + "/client_sup" }

// ServerPath is the path of the row of a tenant's server.
func ServerPath(tenant, server string) string { return ServersPath(tenant) + "/" + server }

// Tenants are the tenants' names, in the tree's order.
func (t Tree) Tenants() []string {
	var names []string
	for _, r := range t {
		if name, ok := strings.CutPrefix(r.Path, tenants); ok && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

// Servers are the names of a tenant's servers, in the tree's order.
func (t Tree) Servers(tenant string) []string {
	return t.servers(tenant, func(Row) bool { return true })
}

// Programs are the names of those that are processes which the host starts.
func (t Tree) Programs(tenant string) []string {
	return t.servers(tenant, func(r Row) bool { return r.Link == "" || r.Link == "stdio" })
}

func (t Tree) servers(tenant string, are func(Row) bool) []string {
	var names []string
	for _, r := range t {
		if name, ok := strings.CutPrefix(r.Path, ServerPath(tenant, "")); ok && !strings.Contains(name, "/") && are(r) {
			names = append(names, name)
		}
	}
	return names
}

// Children are the rows of a tenant's server that have a process, in the tree's order.
func (t Tree) Children(tenant, server string) []Row {
	var rows []Row
	for _, r := range t {
		if r.PID > 0 && strings.HasPrefix(r.Path, ServerPath(tenant, server)+"/") {
			rows = append(rows, r)
		}
	}
	return rows
}

// Paths are those of all rows.
func (t Tree) Paths() []string {
	paths := make([]string, len(t))
	for i, r := range t {
		paths[i] = r.Path
	}
	return paths
}

// Reaches reports whether a pattern can match a row at a path or below it.
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

// Match reports whether a path is of a pattern, in which * stands for one step and ** at the end for any number of them, none included.
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
