package headers

import "strings"

// ports are those of schemes, which are meant where none is written.
var ports = map[string]string{"http": "80", "https": "443"}

// Port is the port of a scheme; empty for one that has none here.
func Port(scheme string) string { return ports[scheme] }

// Authority is the name and the port of a host, as in Host and Origin, in the form in which they
// are compared: in small letters, without one dot at the end of the name, which only says that the
// name is whole (RFC 3986 §3.2.2). The port is empty where none is written.
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
