//go:build !unix

package streamable

import "net"

// waited says yes where it cannot be told.
func waited(net.Listener) bool { return true }

// arriving says no where it cannot be told.
func arriving(net.Conn) bool { return false }
