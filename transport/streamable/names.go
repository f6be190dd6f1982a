package streamable

import (
	"strings"

	"mcpd/protocol/headers"
)

// hostNames are the hosts that a Host header may name.
type hostNames struct {
	names   map[string]bool // with or without a port
	domains []string        // ".example.com" is every subdomain of example.com
}

func newHostNames(all []string) hostNames {
	h := hostNames{names: make(map[string]bool, len(all))}
	for _, name := range all {
		if name = strings.ToLower(name); strings.HasPrefix(name, ".") {
			h.domains = append(h.domains, name)
		} else {
			h.names[name] = true
		}
	}
	return h
}

// has reports whether a Host header names one of them. The port of the scheme may be left out.
func (h hostNames) has(header, scheme string) bool {
	name, port := headers.Authority(header)
	if strings.Trim(port, "0123456789") != "" {
		return false
	}
	if port == "" {
		port = headers.Port(scheme)
	}
	if h.names[name] || h.names[name+":"+port] {
		return true
	}
	for _, domain := range h.domains {
		if label, ok := strings.CutSuffix(name, domain); ok && label != "" && !strings.HasPrefix(label, ".") {
			return true
		}
	}
	return false
}

// originOf is an origin as it is compared: the port of its scheme is not written.
func originOf(scheme, authority string) string {
	name, port := headers.Authority(authority)
	if scheme = strings.ToLower(scheme); port == "" || port == headers.Port(scheme) {
		return scheme + "://" + name
	}
	return scheme + "://" + name + ":" + port
}

// plainOrigin is originOf for an origin as it is sent. One that is opaque, as "null", stays so.
func plainOrigin(text string) string {
	if scheme, authority, ok := strings.Cut(text, "://"); ok {
		return originOf(scheme, authority)
	}
	return text
}

// originNames are the web origins that may call beside the own one.
type originNames struct {
	names   map[string]bool
	schemes []string // "vscode-webview://" is every page of that scheme
}

// AnyOf ends an origin that is every one of its scheme: pages inside of programs have another name
// each time.
const AnyOf = "://*"

func newOriginNames(all []string) originNames {
	o := originNames{names: make(map[string]bool, len(all))}
	for _, name := range all {
		name = strings.ToLower(name)
		if scheme, any := strings.CutSuffix(name, AnyOf); any {
			o.schemes = append(o.schemes, scheme+"://")
		} else {
			o.names[plainOrigin(name)] = true
		}
	}
	return o
}

func (o originNames) has(origin string) bool {
	if o.names[plainOrigin(origin)] {
		return true
	}
	origin = strings.ToLower(origin)
	for _, scheme := range o.schemes {
		if len(origin) > len(scheme) && strings.HasPrefix(origin, scheme) {
			return true
		}
	}
	return false
}
