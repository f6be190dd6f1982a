//go:build !linux

package streamable

import "net"

// DropHandshakes has no effect on systems without socket filters.
func DropHandshakes(net.Listener) {}
