package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mcpd/gateway/config/document"
	"mcpd/gateway/tenant"
)

// enterImport begins a server from the mcpServers of another client. At the top level it belongs
// to the default tenant.
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
		l.Report(name.At, fmt.Sprintf("%s becomes %q here", quoted("server", name.Text), mapped),
			"that cannot be part of a path",
			"rename it to a name of a-z, 0-9 and - other than mcp, sse and t")
		return
	}
	s.server.Name = mapped
	if l.add(s, name) && mapped != name.Text {
		l.config.Imported = append(l.config.Imported, Imported{s.tenant.Name, name.Text, mapped})
	}
}

// checkKind compares the type of an entry with its command or url.
func (l *loader) checkKind(s scope) {
	if l.broken[s.path] {
		return
	}
	where := l.find(s.path, "type")
	switch kind := *s.kind; {
	case kind == "stdio" && s.server.Command.IsZero():
		l.Report(where, `type is "stdio"`, "this type needs a command", "add it, or write type http")
	case kind != "" && kind != "stdio" && s.server.URL.IsZero():
		l.Report(where, fmt.Sprintf("type is %q", kind), "this type needs a url",
			"add it, or write type stdio")
	case kind == "sse":
		s.server.Transport = kind
	}
}

// add adds a server to its tenant unless the name is taken.
func (l *loader) add(s scope, name document.Name) bool {
	id := join(s.tenant.Name, s.server.Name)
	if before, taken := l.origin[id]; taken {
		l.Report(name.At, fmt.Sprintf("%s of tenant %s appears twice", quoted("server", s.server.Name),
			s.tenant.Name), fmt.Sprintf("line %d has a server that gets the same name",
			before.Line), "rename one")
		return false
	}
	l.origin[id] = name.At
	s.tenant.Servers = append(s.tenant.Servers, *s.server)
	return true
}

// aliases maps names that other clients use for a key to the key of mcpd.
var aliases = map[string]string{"serverUrl": "url", "httpUrl": "url"}

// disablingKeys are the keys that disable an entry when they have the given value.
var disablingKeys = map[string]string{"disabled": "true", "enabled": "false", "isActive": "false"}

// ignoredKeys are keys of an entry that only other clients use. mcpd ignores them.
var ignoredKeys = []string{
	"alwaysAllow", "autoApprove", "category", "connectionTimeout", "debug", "description",
	"disabledTools", "enabledTools", "env_vars", "envFile", "excludeTools", "gallery", "icon", "id",
	"includeTools", "initTimeout", "initializationTimeout", "name", "note", "oauth", "provider",
	"requestTimeout", "startupTimeout", "tags", "timeout", "tools", "transportType", "trust",
	"version", "watchPaths",
}

// foreign reports whether the keys of a place may be in the form of other clients.
func (p *place) foreign() bool { return p != nil && strings.HasSuffix(p.path, "mcpServers.*") }

// foreignKey handles a key that the place does not have, but that may belong to another client.
// child is the key that it stands for, nil if it is ignored.
func (l *loader) foreignKey(n *node, name document.Name, alone bool) (child *node, known bool) {
	_, switched := disablingKeys[name.Text]
	switch foreign := n.place.foreign(); {
	case foreign && aliases[name.Text] != "":
		return n.find(aliases[name.Text]), true
	case foreign && switched: // see disabled
		return nil, true
	case foreign && slices.Contains(ignoredKeys, name.Text), alone:
		l.warn(name.At, fmt.Sprintf("key %q is ignored", document.Printable(name.Text)),
			"it belongs to another client and means nothing to mcpd",
			"remove it, or keep it for that client")
		return nil, true
	}
	return nil, false
}

// disabled reports whether another client has disabled an entry. Such an entry is left out.
func (l *loader) disabled(y ast.Node, name document.Name) bool {
	mapping, ok := y.(*ast.MappingNode)
	if !ok {
		return false
	}
	for _, value := range mapping.Values {
		key, _, _ := document.Text(value.Key)
		off, known := disablingKeys[key]
		if set, text, _ := document.Text(value.Value); known && !text && set == off {
			l.warn(document.At(value.Key), quoted("server", name.Text)+" is left out",
				key+" is "+off, "remove that line to serve it")
			return true
		}
	}
	return false
}

// imports reports whether the keys at the top are those of another client's file: mcpServers, and
// no other key of mcpd.
func imports(n *node, pairs []document.Pair) (only bool) {
	for _, pair := range pairs {
		switch {
		case pair.Name.Text == "mcpServers":
			only = true
		case n.find(pair.Name.Text) != nil:
			return false
		}
	}
	return only && n == shape()
}

// MapName converts the name of a server in another client's configuration: lower case, with each
// run of other characters replaced by a single dash, and no dash at the ends. The result may
// still be an invalid name.
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
