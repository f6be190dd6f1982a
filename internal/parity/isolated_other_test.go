//go:build !linux

package parity

import (
	"errors"
	"os/exec"
)

func runIsolated() (*exec.Cmd, error) { return nil, errors.ErrUnsupported }

func loopback() error { return errors.ErrUnsupported }
