//go:build !unix

package streamable

import "net"

// waited returns true, because this system cannot tell.
func waited(net.Listener) bool { return true }

// arriving returns false, because this system cannot tell.
func arriving(net.Conn) bool { return false }
