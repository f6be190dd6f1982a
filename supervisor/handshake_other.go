//go:build !linux

package supervisor

import "net"

// refuseHandshakes has no effect where the system has no filters of sockets.
func refuseHandshakes(net.Listener) {}
