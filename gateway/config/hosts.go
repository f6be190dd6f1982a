package config

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

func putHost(dst any, v value) *mistake {
	const example = "write a name or an address, with :port if it has one, " +
		"or .example.com for the subdomains of example.com"
	host, port := splitHost(v.text)
	domain, sub := strings.CutPrefix(host, ".")
	switch {
	case domain == "", strings.ContainsFunc(host+port, notInHost), strings.Contains(domain, ".."),
		strings.HasPrefix(domain, "."), strings.HasSuffix(domain, "."):
		return &mistake{"it is no host name", example}
	case sub && port != "":
		return &mistake{"subdomains have no port of their own", "write it without, like .example.com"}
	case sub && public(domain):
		return &mistake{"anybody can have a name below it", "write the domain that is yours, like .example.com"}
	}
	*dst.(*[]string) = append(*dst.(*[]string), host+port)
	return nil
}

// splitHost is a host as it is compared, and its port with the colon before it. Case means nothing,
// and neither does one dot at the end of a name (RFC 3986 §3.2.2).
func splitHost(text string) (host, port string) {
	host = strings.ToLower(text)
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i:]
	}
	return strings.TrimSuffix(host, "."), port
}

func notInHost(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/*@?#\\", r) }

// public reports whether anybody can have a name below a domain, which is in small letters: it is a
// public suffix, or all that is right below it is (*.compute.amazonaws.com).
func public(domain string) bool {
	for _, name := range []string{domain, "any." + domain} {
		if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
			return true
		}
	}
	return false
}
