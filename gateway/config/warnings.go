package config

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"mcpd/gateway/config/document"
)

// warningChecks are the checks for configurations that are valid but probably unintended. Their
// order does not matter.
var warningChecks = []func(*loader){
	warnHosts,
	warnSockets,
	warnOrigins,
	warnKeys,
	warnServers,
	warnLiterals,
}

// warn adds a warning.
func (l *loader) warn(at document.Position, label, reason, do string) {
	l.warnings = append(l.warnings, document.Problem{
		File: l.File, Line: at.Line, Col: at.Col, What: label, Why: reason, Do: do,
	})
}

// warnHosts warns of a listener on all addresses that accepts only the names of loopback.
func warnHosts(l *loader) {
	i := slices.IndexFunc(l.config.Listen, isWildcard)
	if i < 0 || len(l.config.Hosts) > 0 {
		return
	}
	l.warn(l.find("listen"), "listen is "+l.config.Listen[i]+" and there are no hosts",
		"clients that use another name than localhost are refused with 403",
		"add to hosts the names and addresses that clients use")
}

// isWildcard reports whether a listener is on all addresses of this machine.
func isWildcard(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	a, bad := netip.ParseAddr(host)
	return err == nil && !strings.HasPrefix(listen, UnixPrefix) &&
		(host == "" || bad == nil && a.IsUnspecified())
}

// warnSockets warns of Unix sockets whose directory is missing.
func warnSockets(l *loader) {
	look := l.options.Machine.Directory
	for _, at := range l.config.Listen {
		path, isUnix := strings.CutPrefix(at, UnixPrefix)
		if !isUnix || look == nil {
			continue
		}
		if err := look(filepath.Dir(path)); err != nil {
			l.warn(l.find("listen"), "listen is "+at+" and there is no directory "+filepath.Dir(path),
				err.Error(), "create it, or name another")
		}
	}
}

// warnOrigins warns of web pages that call from other machines over plain HTTP. Their browsers
// have six connections for all tabs, and allow none at all from a page that came by https.
func warnOrigins(l *loader) {
	i := slices.IndexFunc(l.config.Listen, reachable)
	if i < 0 || len(l.config.Origins) == 0 || l.config.TLS.Cert != "" ||
		len(l.config.TrustedProxies) > 0 {
		return
	}
	l.warn(l.find("origins"), "there are origins, and listen is "+l.config.Listen[i]+" without TLS",
		"over plain HTTP a browser has six connections for all its tabs, and pages of https cannot "+
			"call at all",
		"set tls.cert and tls.key, or name the proxy that has them in trusted_proxies")
}

// reachable reports whether other machines can reach an address.
func reachable(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	a, bad := netip.ParseAddr(host)
	return err == nil && !strings.HasPrefix(listen, UnixPrefix) && host != "localhost" &&
		(bad != nil || !a.IsLoopback())
}

// warnServers warns of programs and directories that the machine lacks, and of servers whose URL
// is this host itself.
func warnServers(l *loader) {
	for _, t := range l.tenants {
		for _, s := range t.Servers {
			at := func(key string) document.Position { return l.serverAt(t.Name, s.Name, key) }
			name := quoted("server", s.Name)
			if look := l.options.Machine.Program; look != nil && !s.Command.IsZero() {
				if err := look(s.Command.Reveal()); err != nil {
					l.warn(at("command"), name+": "+s.Command.String()+" cannot be run", err.Error(),
						"install it, or write its absolute path: mcpd searches its own PATH")
				}
			}
			if look := l.options.Machine.Directory; look != nil && !s.Cwd.IsZero() {
				if err := look(s.Cwd.Reveal()); err != nil {
					l.warn(at("cwd"), name+": there is no directory "+s.Cwd.String(), err.Error(),
						"create it, or name another")
				}
			}
			if slices.ContainsFunc(l.config.Listen, func(at string) bool {
				return l.isThisHost(s.URL.Reveal(), at)
			}) {
				l.warn(at("url"), name+" is this host itself", "its calls would come back to this host",
					"name the intended server")
			}
		}
	}
}

// serverAt returns the position of a key of a server, or else of the server itself.
func (l *loader) serverAt(tenant, server, key string) document.Position {
	for _, path := range [][]string{
		{"tenants", tenant, "servers", server, key}, {"tenants", tenant, "servers", server},
	} {
		if l.has(path...) {
			return l.find(path...)
		}
	}
	return l.origin[join(tenant, server)]
}
