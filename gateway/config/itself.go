package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	wire "mcpd/protocol/headers"
)

// isThisHost reports whether a URL leads to a listener of this host. Names are not resolved: only
// localhost and the names of hosts are known.
func (l *loader) isThisHost(link, listen string) bool {
	u, err := url.Parse(link)
	if err != nil || link == "" || strings.HasPrefix(listen, UnixPrefix) {
		return false
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return false
	}
	if given := u.Port(); given != port && (given != "" || port != wire.Port(u.Scheme)) {
		return false
	}
	asked, _ := wire.Authority(u.Host)
	mine, _ := wire.Authority(net.JoinHostPort(host, port))
	if asked == mine || l.isOwnName(asked) {
		return true
	}
	own, numeric := addressOf(mine)
	all := host == "" || numeric && own.IsUnspecified()
	theirs, ok := addressOf(asked)
	switch {
	// A connection to 0.0.0.0 reaches loopback.
	case asked == "localhost", ok && theirs.IsUnspecified():
		return all || mine == "localhost" || own.IsLoopback()
	case !ok:
		return false
	case mine == "localhost":
		return theirs.IsLoopback()
	case !all:
		return theirs == own
	case host == "0.0.0.0" && !theirs.Is4():
		return false
	}
	return theirs.IsLoopback() || slices.Contains(l.ownAddresses(), theirs)
}

// isOwnName reports whether a host name is one of the names in hosts. Subdomains do not count,
// because they may belong to others.
func (l *loader) isOwnName(host string) bool {
	return slices.ContainsFunc(l.config.Hosts, func(known string) bool {
		name, _ := wire.Authority(known)
		return name == host
	})
}

func (l *loader) ownAddresses() []netip.Addr {
	if l.options.Machine.Addresses == nil {
		return nil
	}
	return l.options.Machine.Addresses()
}

// addressOf returns the address that a host is written as.
func addressOf(host string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return a.Unmap().WithZone(""), err == nil
}
