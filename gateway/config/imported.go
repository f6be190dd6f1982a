package config

import (
	"fmt"
	"strings"

	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
)

// enterImport begins a server of another client's mcpServers. At the top level it belongs to the default tenant.
func enterImport(l *loader, s scope, name document.Name) scope {
	if s.tenant == nil {
		s.tenant = l.tenant(tenant.Default)
	}
	s.kind = new(string)
	s.server = l.defaults(s, name.Text)
	return s
}

func leaveImport(l *loader, s scope, name document.Name) {
	l.checkServer(s, name)
	l.checkKind(s)
	mapped := MapName(name.Text)
	if !tenant.ValidServer(mapped) {
		l.Report(name.At, fmt.Sprintf("%s becomes %q here", quoted("server", name.Text), mapped), "that cannot be part of a path", "rename it to something of a-z, 0-9 and -, but not mcp, sse or t")
		return
	}
	s.server.Name = mapped
	if l.add(s, name) && mapped != name.Text {
		l.config.Imported = append(l.config.Imported, Imported{s.tenant.Name, name.Text, mapped})
	}
}

// checkKind compares the type of an entry with how it is reached.
func (l *loader) checkKind(s scope) {
	if l.broken[s.path] {
		return
	}
	where := l.find(s.path, "type")
	switch kind := *s.kind; {
	case kind == "stdio" && s.server.Command.IsZero():
		l.Report(where, `type is "stdio"`, "that needs a command", "add it, or write type http")
	case kind != "" && kind != "stdio" && s.server.URL.IsZero():
		l.Report(where, fmt.Sprintf("type is %q", kind), "that needs a url", "add it, or write type stdio")
	case kind == "sse":
		s.server.Transport = kind
	}
}

// add puts a server into its tenant unless the name is taken.
func (l *loader) add(s scope, name document.Name) bool {
	id := join(s.tenant.Name, s.server.Name)
	if before, taken := l.origin[id]; taken {
		l.Report(name.At, fmt.Sprintf("%s of tenant %s is there twice", quoted("server", s.server.Name), s.tenant.Name), fmt.Sprintf("line %d has a server that gets the same name", before.Line), "rename one")
		return false
	}
	l.origin[id] = name.At
	s.tenant.Servers = append(s.tenant.Servers, *s.server)
	return true
}

// MapName turns the name of a server in another client's configuration into one of ours: lower case, and each run of other
// characters a single dash, none at the ends. The result may still be no valid name.
func MapName(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), "-")
}
