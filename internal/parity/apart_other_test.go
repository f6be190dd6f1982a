//go:build !linux

package parity

import (
	"errors"
	"os/exec"
)

func alone() (*exec.Cmd, error) { return nil, errors.ErrUnsupported }

func loopback() error { return errors.ErrUnsupported }
