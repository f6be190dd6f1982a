package main

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"

	"mcpd/gateway/config"
)

// machine looks up programs, directories and addresses of a configuration on this machine.
var machine = config.Machine{
	Program: func(name string) error {
		_, err := exec.LookPath(name)
		return innermost(err)
	},
	Directory: func(path string) error {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			err = errors.New("it is not a directory")
		}
		return innermost(err)
	},
	Addresses: func() (all []netip.Addr) {
		// Where they cannot be listed, no address is known.
		found, _ := net.InterfaceAddrs()
		for _, a := range found {
			if n, ok := a.(*net.IPNet); ok {
				if ip, ok := netip.AddrFromSlice(n.IP); ok {
					all = append(all, ip.Unmap())
				}
			}
		}
		return all
	},
}

// innermost returns the innermost error. The errors around it contain a path, which may contain
// values of variables.
func innermost(err error) error {
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
