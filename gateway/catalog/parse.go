package catalog

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// schemesWithHost are the schemes whose URIs need a host (WHATWG URL §special-scheme). The host of
// a file URI may be empty.
var schemesWithHost = []string{"http", "https", "ws", "wss", "ftp", "file"}

// clientsParse reports whether the URL parsers of clients accept a URI. The parser of the
// Python SDK fails a whole list because of one URI that it rejects: a relative URI, or
// one with an impossible host or port.
func clientsParse(uri string) bool {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || !isScheme(scheme) || strings.ContainsFunc(uri, control) {
		return false
	}
	needsHost := slices.Contains(schemesWithHost, strings.ToLower(scheme))
	rest, found = strings.CutPrefix(rest, "//")
	if !found {
		return !needsHost
	}
	if end := strings.IndexAny(rest, `/?#`); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndexByte(rest, '@')
	host, port, ok := cutPort(rest[at+1:])
	if !ok || host == "" && (at >= 0 || port || needsHost && !strings.EqualFold(scheme, "file")) {
		return false
	}
	return isHost(host, needsHost)
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

func isScheme(s string) bool {
	for i, r := range s {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') &&
			(i == 0 || !strings.ContainsRune("+-.", r)) {
			return false
		}
	}
	return s != ""
}

// cutPort removes the port. Port reports whether there is one, ok whether it is empty or a
// number.
func cutPort(authority string) (host string, port, ok bool) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, false, true
	}
	digits := authority[colon+1:]
	_, err := strconv.ParseUint(digits, 10, 16)
	return authority[:colon], true, err == nil || digits == ""
}

// isHost reports whether a host is valid: an IPv6 address in brackets, or a text without
// forbidden characters (WHATWG URL §forbidden-host-code-point). A host of a web URI must be a
// name or an address.
func isHost(host string, web bool) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return closed && err == nil && ip.Is6() && ip.Zone() == ""
	}
	if strings.ContainsAny(host, " <>[]\\^|:") || web && strings.ContainsAny(host, "%\"`{}") {
		return false
	}
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	if web && last != "" && last[0] >= '0' && last[0] <= '9' {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Is4()
	}
	return true
}
