package streamable

import "strings"

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

// has reports whether a Host header names one of them. A dot at the end of a name only says that it
// is whole (RFC 3986 §3.2.2).
func (h hostNames) has(header string) bool {
	host := strings.ToLower(header)
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i+1:]
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	if cut, found := strings.CutSuffix(name, "."); found && cut != "" {
		name, host = cut, cut+host[len(cut)+1:]
	}
	if h.names[name] || h.names[host] {
		return true
	}
	for _, domain := range h.domains {
		if label, ok := strings.CutSuffix(name, domain); ok && label != "" && !strings.HasPrefix(label, ".") {
			return true
		}
	}
	return false
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
			o.names[name] = true
		}
	}
	return o
}

func (o originNames) has(origin string) bool {
	origin = strings.ToLower(origin)
	if o.names[origin] {
		return true
	}
	for _, scheme := range o.schemes {
		if len(origin) > len(scheme) && strings.HasPrefix(origin, scheme) {
			return true
		}
	}
	return false
}
