//go:build !linux

package faults

import "errors"

func setDescriptors(int, uint64) error {
	return errors.New("the limits of a process can be changed from outside on Linux only")
}
