package headers

import "strings"

// ports are the default ports of schemes.
var ports = map[string]string{"http": "80", "https": "443"}

// Port is the default port of http or https. It is empty for any other scheme.
func Port(scheme string) string { return ports[scheme] }

// Authority splits a host, as in Host or Origin, into its name and its port, in the form for
// comparisons. The name is in lower case, without one dot at its end, which only marks the name as
// fully qualified (RFC 3986 §3.2.2). The port is empty if none is given.
func Authority(text string) (name, port string) {
	name = strings.ToLower(text)
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
		name, port = name[:i], name[i+1:]
	}
	if cut := strings.TrimSuffix(name, "."); cut != "" {
		name = cut
	}
	return name, port
}
