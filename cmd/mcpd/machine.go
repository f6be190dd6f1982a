package main

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"

	"mcpd/gateway/config"
)

// machine looks up what a configuration names, on this one.
var machine = config.Machine{
	Program: func(name string) error {
		_, err := exec.LookPath(name)
		return cause(err)
	},
	Directory: func(path string) error {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			err = errors.New("it is no directory")
		}
		return cause(err)
	},
	Addresses: func() (all []netip.Addr) {
		found, _ := net.InterfaceAddrs() // none is known where they cannot be listed
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

// cause is an error without the path in front of it, which may have values of variables in it.
func cause(err error) error {
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
