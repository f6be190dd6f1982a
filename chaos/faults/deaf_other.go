//go:build !linux

package faults

import (
	"errors"
	"net"
)

func deafen(*net.TCPConn, bool) error {
	return errors.New("only Linux can have a connection drop what arrives")
}
