//go:build !linux

package streamable

import "net"

// DropHandshakes has no effect where the system has no filters of sockets.
func DropHandshakes(net.Listener) {}
