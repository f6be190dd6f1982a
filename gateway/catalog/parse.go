package catalog

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// special are the schemes whose URIs need a host (WHATWG URL §special-scheme). That of file may be
// empty.
var special = []string{"http", "https", "ws", "wss", "ftp", "file"}

// parses reports whether the URL parsers of clients take a URI. The Python SDK's fails a whole list
// because of one that it does not take: a relative one, or one with a host or port that cannot be.
func parses(uri string) bool {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || !isScheme(scheme) || strings.ContainsFunc(uri, control) {
		return false
	}
	needsHost := slices.Contains(special, strings.ToLower(scheme))
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

// cutPort takes the port away; ok says that it is none or a number.
func cutPort(authority string) (host string, port, ok bool) {
	colon := strings.LastIndexByte(authority, ':')
	if colon < 0 || strings.HasSuffix(authority, "]") {
		return authority, false, true
	}
	digits := authority[colon+1:]
	_, err := strconv.ParseUint(digits, 10, 16)
	return authority[:colon], true, err == nil || digits == ""
}

// isHost reports whether a host is one: an address of IPv6 in brackets, or without the characters
// that none may have (WHATWG URL §forbidden-host-code-point). Those of the web are names or
// addresses.
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
