package config

import (
	"strings"

	"golang.org/x/net/publicsuffix"

	wire "mcpd/protocol/headers"
)

func putHost(dst any, v value) *mistake {
	const example = "write a name or an address, with :port if it has one, " +
		"or .example.com for the subdomains of example.com"
	host, port := wire.Authority(v.text)
	domain, sub := strings.CutPrefix(host, ".")
	switch {
	case domain == "", strings.ContainsFunc(host, notInHost), strings.Trim(port, "0123456789") != "",
		strings.Contains(domain, "..") || strings.HasPrefix(domain, ".") ||
			strings.HasSuffix(domain, "."):
		return &mistake{"it is not a host name", example}
	case strings.Contains(host, ":") && !strings.HasPrefix(host, "["):
		return &mistake{"it is not a host name", "write an IPv6 address in brackets, like [::1]"}
	case sub && port != "":
		return &mistake{
			"a pattern for subdomains has no port", "write it without a port, like .example.com",
		}
	case sub && public(domain):
		return &mistake{
			"everyone can register a name below it", "write your own domain, like .example.com",
		}
	}
	if port != "" {
		host += ":" + port
	}
	*dst.(*[]string) = append(*dst.(*[]string), host)
	return nil
}

func notInHost(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/*@?#\\", r) }

// public reports whether anybody can have a name below a domain, which is in lower case. That is
// the case for a public suffix, and for a domain whose direct subdomains are all public suffixes
// (*.compute.amazonaws.com).
func public(domain string) bool {
	for _, name := range []string{domain, "any." + domain} {
		if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
			return true
		}
	}
	return false
}
