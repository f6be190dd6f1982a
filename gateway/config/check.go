package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"mcpd/gateway/config/document"
	"mcpd/gateway/config/units"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// checks are the rules that involve more than one key. Their order does not matter.
var checks = []func(*loader){
	checkTLS,
	checkTenants,
	checkReach,
	checkProxies,
	checkAdmin,
	checkTimes,
	checkRevisions,
	checkKeys,
}

func checkTLS(l *loader) {
	if l.has("tls", "cert") != l.has("tls", "key") && !l.broken["tls"] {
		l.Report(l.find("tls"), "tls has only one of cert and key", "a listener needs both",
			"add the other")
	}
}

func checkTenants(l *loader) {
	if len(l.tenants) == 0 && len(l.Problems) == 0 {
		l.Report(document.Position{Line: 1, Col: 1}, "there is no tenant", "nothing would be served",
			"add tenants.default.servers, or mcpServers")
	}
}

// checkReach refuses a tenant without keys if other machines can reach the listener.
func checkReach(l *loader) {
	listen := exposedAddress(l.config.Listen)
	if listen == "" {
		return
	}
	for _, t := range l.tenants {
		if len(t.Keys) > 0 {
			continue
		}
		where := l.find("tenants", t.Name)
		if where == (document.Position{}) {
			where = l.find("mcpServers")
		}
		l.Report(where, quoted("tenant", t.Name)+" has no key",
			"listen "+listen+" is reachable from other machines",
			"add auth.keys (`mcpd key new` prints one), or listen on 127.0.0.1")
	}
}

// checkProxies refuses the PROXY protocol if there are no trusted proxies.
func checkProxies(l *loader) {
	if l.config.ProxyProtocol && len(l.config.TrustedProxies) == 0 {
		l.reporter("proxy_protocol")("proxy_protocol is true and there are no trusted_proxies",
			"no peer is allowed to send the header", "add the addresses of the proxies to trusted_proxies")
	}
}

func checkAdmin(l *loader) {
	admin := l.config.Admin.Listen
	said := l.reporter("admin.listen")
	if !loopback(admin) {
		said("admin.listen is "+admin,
			"everyone who can reach it could read the tree and the metrics of all tenants",
			"listen on 127.0.0.1, and forward the port if needed")
	}
	if _, port, _ := net.SplitHostPort(admin); slices.Contains(l.config.Listen, admin) && port != "0" {
		said("admin.listen is the same address as listen", "two listeners cannot share an address",
			"give one of them another port")
	}
}

func checkTimes(l *loader) {
	check := func(limits tenant.Limits, path ...string) {
		if limits.CallTimeout > limits.CallTimeoutMax {
			where := l.find(append(path, "limits", "call_timeout")...)
			if where == (document.Position{}) {
				where = l.find(append(path, "limits", "call_timeout_max")...)
			}
			l.Report(where, fmt.Sprintf("call_timeout is %s and call_timeout_max %s",
				units.FormatSpan(limits.CallTimeout), units.FormatSpan(limits.CallTimeoutMax)),
				"the first must not exceed the second", "lower the first or raise the second")
		}
	}
	check(l.config.Limits)
	for _, t := range l.tenants {
		if t.Limits != l.config.Limits {
			check(t.Limits, "tenants", t.Name)
		}
	}
}

func checkRevisions(l *loader) {
	check := func(n protocol.Negotiation, path ...string) {
		where := l.find(append(path, "negotiation")...)
		legacy, modern := n.Offered(protocol.Legacy), n.Offered(protocol.Modern)
		switch {
		case len(legacy)+len(modern) == 0:
			l.Report(where, fmt.Sprintf("min_version is %s and max_version %s", n.Floor, n.Ceiling),
				"no revision is in that range", "swap them")
		case n.Default != 0 && !slices.Contains(legacy, n.Default):
			l.Report(where, fmt.Sprintf("default_version is %s", n.Default),
				"it is for initialize, which can agree on "+revisions(legacy),
				"name one of those, or leave it out")
		}
	}
	check(l.config.Negotiation)
	for _, t := range l.tenants {
		if t.Negotiation != l.config.Negotiation {
			check(t.Negotiation, "tenants", t.Name)
		}
	}
}

func revisions(versions []protocol.Version) string {
	if len(versions) == 0 {
		return "none"
	}
	return strings.Join(texts(versions), ", ")
}

// find returns the position of a path, or the zero position if the file does not have it.
func (l *loader) find(path ...string) document.Position {
	return l.where[strings.Join(path, "\x00")]
}

func (l *loader) has(path ...string) bool {
	_, ok := l.where[strings.Join(path, "\x00")]
	return ok
}

// required reports keys of a place that are missing or exclude each other.
func (l *loader) required(p *place, s scope, name document.Name) {
	if l.broken[s.path] {
		return
	}
	for _, key := range p.require {
		if !l.has(s.path, key) {
			l.Report(name.At, p.label+" without "+key, "a key needs both name and sha256",
				"`mcpd key new` prints the whole line")
		}
	}
	var there []string
	for _, key := range p.oneOf {
		if l.has(s.path, key) {
			there = append(there, key)
		}
	}
	switch {
	case len(p.oneOf) == 0 || len(there) == 1:
	case len(there) == 0:
		l.Report(name.At, quoted("server", name.Text)+" has none of "+strings.Join(p.oneOf, ", "),
			"one of them must say how to reach the server", "add one")
	default:
		l.Report(name.At, quoted("server", name.Text)+" has "+strings.Join(there, " and "),
			"a server can have only one of them", "keep one")
	}
}

// requiredKey maps keys of a server to the key that they require.
var requiredKey = map[string]string{
	"args": "command", "env": "command", "env_pass": "command", "cwd": "command",
	"max_files": "command", "max_file_size": "command",
	"max_memory": "command", "max_processes": "command",
	"headers": "url", "transport": "url", "proxy": "url", "ca": "url",
}

// checkServer reports keys that do not go together.
func (l *loader) checkServer(s scope, name document.Name) {
	for _, key := range sortedKeys(requiredKey) {
		if l.has(s.path, key) && !l.has(s.path, requiredKey[key]) && !l.broken[s.path] {
			l.Report(l.find(s.path, key), quoted("server", name.Text)+" has "+key,
				"it applies only with "+requiredKey[key], "remove it")
		}
	}
	if n := s.server.Negotiation; len(n.Offered(protocol.Legacy))+
		len(n.Offered(protocol.Modern)) == 0 {
		l.Report(l.find(s.path, "max_version"),
			fmt.Sprintf("min_version is %s and max_version %s", n.Floor, n.Ceiling),
			"no revision is in that range", "swap them")
	}
	if b := s.server.Builtin; b != "" && !slices.Contains(l.options.Builtins, b) {
		m := notAWord(b, l.options.Builtins)
		l.Report(l.find(s.path, "builtin"), fmt.Sprintf("builtin is %q", document.Printable(b)),
			m.reason, m.do)
	}
}

// exposedAddress returns the first address that other machines reach, or "".
func exposedAddress(listen []string) string {
	if i := slices.IndexFunc(listen, func(at string) bool { return !loopback(at) }); i >= 0 {
		return listen[i]
	}
	return ""
}

// loopback reports whether only this machine reaches a listener.
func loopback(listen string) bool {
	if strings.HasPrefix(listen, UnixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
