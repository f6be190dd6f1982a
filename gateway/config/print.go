package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"mcpd/gateway/auth"
	"mcpd/gateway/config/document"
	"mcpd/gateway/config/units"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
	"mcpd/protocol/negotiation"
)

// Print returns the effective configuration as a file: with defaults filled in, without secrets,
// with the entries of mcpServers as servers, and with a comment beside each server on how its
// connections are shared.
func Print(c *Config) []byte {
	p := &printer{}
	p.level(shape(), scope{config: c}, 0)
	return []byte(p.String())
}

type printer struct{ strings.Builder }

func (p *printer) line(depth int, text string) {
	p.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// level prints the values below one node. It skips keys without a value.
func (p *printer) level(n *node, s scope, depth int) {
	for _, child := range n.children {
		switch {
		case child.name == "mcpServers":
		case s.server != nil && requiredKey[child.name] == "command" && s.server.Link() != tenant.Stdio:
		case child.key != nil:
			p.leaf(child, s, depth)
		case child.each != nil:
			p.things(child, s, depth)
		case child.item != nil:
			if len(s.tenant.Keys) > 0 {
				p.line(depth, child.name+":")
			}
			for i := range s.tenant.Keys {
				s.key = &s.tenant.Keys[i]
				p.line(depth+1, "- name: "+plain(s.key.Name))
				p.line(depth+1, "  sha256: "+plain(s.key.Hash.String()))
			}
		default:
			inner := &printer{}
			if inner.level(child, s, depth+1); inner.Len() > 0 {
				p.line(depth, child.name+":")
				p.WriteString(inner.String())
			}
		}
	}
}

// things prints all tenants, or all servers of a tenant.
func (p *printer) things(n *node, s scope, depth int) {
	p.line(depth, n.name+":")
	if s.tenant == nil {
		for i := range s.config.Tenants {
			s.tenant = &s.config.Tenants[i]
			p.line(depth+1, plain(s.tenant.Name)+":")
			p.level(n.each, s, depth+2)
		}
		return
	}
	for i := range s.tenant.Servers {
		s.server = &s.tenant.Servers[i]
		p.line(depth+1, plain(s.server.Name)+":"+imported(s))
		p.level(n.each, s, depth+2)
	}
}

func imported(s scope) string {
	for _, from := range s.config.Imported {
		if from.Tenant == s.tenant.Name && from.Name == s.server.Name {
			return " # " + document.Printable(from.From) + " in mcpServers"
		}
	}
	return ""
}

func (p *printer) leaf(n *node, s scope, depth int) {
	switch v := n.key.at(s).(type) {
	case *map[string]string:
		p.dict(depth, n.name, sortedKeys(*v), func(k string) string { return (*v)[k] })
	case *map[string]tenant.Secret:
		p.dict(depth, n.name, sortedKeys(*v), func(k string) string { return (*v)[k].String() })
	case *[]string:
		if n.key.Type.single && len(*v) == 1 {
			p.scalar(depth, n.name, (*v)[0])
			return
		}
		p.list(depth, n.name, *v)
	case *[]netip.Prefix:
		p.list(depth, n.name, texts(*v))
	case *[]tenant.Secret:
		p.list(depth, n.name, texts(*v))
	case *string:
		p.scalar(depth, n.name, *v)
	case *tenant.Secret:
		p.scalar(depth, n.name, v.String())
	case *protocol.Version:
		if *v != 0 {
			p.scalar(depth, n.name, v.String())
		}
	case *protocol.Mode:
		p.scalar(depth, n.name, modes[*v])
	case *bool:
		p.line(depth, n.name+": "+strconv.FormatBool(*v))
	case *inverted:
		p.line(depth, n.name+": "+strconv.FormatBool(!bool(*v)))
	case *negotiation.Need:
		p.scalar(depth, n.name, v.String())
	case *tenant.Share:
		p.line(depth, n.name+": "+v.String()+applied(*v, s.server.Link()))
	case *int:
		if *v != 0 || n.key.Default != "" {
			p.line(depth, n.name+": "+strconv.Itoa(*v))
		}
	case *int64:
		if *v != 0 || n.key.Default != "" {
			p.scalar(depth, n.name, units.FormatSize(*v))
		}
	case *time.Duration:
		p.scalar(depth, n.name, units.FormatSpan(*v))
	case *auth.Hash:
		p.scalar(depth, n.name, v.String())
	default:
		panic(fmt.Sprintf("config: %s is a %T, which cannot be printed", n.key.Path, v))
	}
}

// applied returns a comment with the effect of the default sharing.
func applied(s tenant.Share, link tenant.Link) string {
	if s != tenant.ByDefault {
		return ""
	}
	return fmt.Sprintf(" # %s", s.Applied(link))
}

func (p *printer) scalar(depth int, name, value string) {
	if value != "" {
		p.line(depth, name+": "+plain(value))
	}
}

func (p *printer) list(depth int, name string, items []string) {
	if len(items) == 0 {
		return
	}
	p.line(depth, name+":")
	for _, item := range items {
		p.line(depth+1, "- "+plain(item))
	}
}

func (p *printer) dict(depth int, name string, keys []string, value func(string) string) {
	if len(keys) == 0 {
		return
	}
	p.line(depth, name+":")
	for _, key := range keys {
		p.line(depth+1, plain(key)+": "+plain(value(key)))
	}
}

func texts[T fmt.Stringer](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}
	return out
}

// plain writes a text so that YAML reads back the same text. The text is bare if it begins with a
// letter or a slash, has only letters, digits and a few harmless characters, and is not a word
// with another meaning in YAML. Otherwise it is quoted as in JSON.
func plain(s string) string {
	bare := s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z' || s[0] == '/')
	for i := range len(s) {
		c := s[i]
		bare = bare && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("-_./", c) >= 0)
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		bare = false
	}
	if bare {
		return s
	}
	return quote(strings.ToValidUTF8(s, "\ufffd"))
}
