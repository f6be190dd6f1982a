package supervisor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"mcpd/gateway/config"
)

const unixPrefix = config.UnixPrefix

// bind opens all sockets of the MCP listener, or none. A listener that restarts gets the address
// that it had before, because the kernel may have chosen its port.
func (h *host) bind(c *config.Config) (bound []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range bound {
				_ = l.Close()
			}
			bound = nil
		}
	}()
	h.handover.resetTaken()
	for i, address := range c.Listen {
		name := socketName(i)
		at := h.addrs.boundOr(name, address)
		l, err := h.handover.take(at, c.Edge.StallTime)
		if l == nil && err == nil {
			l, err = listen(c, at)
		}
		if err != nil {
			return bound, fmt.Errorf("listen %s: %w", at, err)
		}
		bound = append(bound, l)
		h.addrs.set(name, formatAddr(l.Addr()))
	}
	return bound, nil
}

// socketName returns the name under which a socket's address is remembered. Commands reach the host
// at the address of the first socket.
func socketName(i int) string {
	if i == 0 {
		return "mcp"
	}
	return fmt.Sprintf("mcp %d", i+1)
}

// formatAddr returns an address in the form of the `listen` setting.
func formatAddr(a net.Addr) string {
	if a.Network() == "unix" {
		return unixPrefix + a.String()
	}
	return a.String()
}

func listen(c *config.Config, address string) (net.Listener, error) {
	if path, isUnix := strings.CutPrefix(address, unixPrefix); isUnix {
		return listenUnix(path, c.Unix)
	}
	return listenConfig(c.Edge.StallTime).Listen(context.Background(),
		network(address, c.Listen), address)
}

// network returns the network for an address. By default Go takes 0.0.0.0 to mean IPv6 too. [::]
// means both, unless another listener has the same port on IPv4.
func network(address string, all []string) string {
	a, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return "tcp"
	case a.Addr().Is4():
		return "tcp4"
	}
	for _, other := range all {
		if o, err := netip.ParseAddrPort(other); err == nil && o.Addr().Is4() && o.Port() == a.Port() &&
			a.Port() != 0 {
			return "tcp6"
		}
	}
	return "tcp"
}
