package streamable

import (
	"strings"

	"mcpd/protocol/headers"
)

// hostNames are the hosts that a Host header may name.
type hostNames struct {
	names   map[string]bool // with or without a port
	domains []string        // ".example.com" stands for every subdomain of example.com
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

// has reports whether a Host header names one of the hosts. The default port of the scheme may be
// omitted.
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
		if label, ok := strings.CutSuffix(name, domain); ok && label != "" &&
			!strings.HasPrefix(label, ".") {
			return true
		}
	}
	return false
}

// originOf returns an origin in normal form: in lower case and without the default port of its
// scheme.
func originOf(scheme, authority string) string {
	name, port := headers.Authority(authority)
	if scheme = strings.ToLower(scheme); port == "" || port == headers.Port(scheme) {
		return scheme + "://" + name
	}
	return scheme + "://" + name + ":" + port
}

// plainOrigin returns the normal form of an origin as it is sent. It returns an opaque origin, such
// as "null", unchanged.
func plainOrigin(text string) string {
	if scheme, authority, ok := strings.Cut(text, "://"); ok {
		return originOf(scheme, authority)
	}
	return text
}

// originNames are the web origins that may call in addition to the host's own origin.
type originNames struct {
	names   map[string]bool
	schemes []string // "vscode-webview://" stands for every page of that scheme
}

// AnyOriginSuffix is the suffix of an origin pattern that matches every origin of its scheme. Pages
// embedded in programs have a new host name each time.
const AnyOriginSuffix = "://*"

func newOriginNames(all []string) originNames {
	o := originNames{names: make(map[string]bool, len(all))}
	for _, name := range all {
		name = strings.ToLower(name)
		if scheme, any := strings.CutSuffix(name, AnyOriginSuffix); any {
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
