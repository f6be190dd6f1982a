//go:build !linux

package faults

import (
	"errors"
	"math"
)

func setDescriptors(int, uint64) error {
	return errors.New("the limits of a process can be changed from outside on Linux only")
}

// descriptorsLeft returns a number without bound: the limit is only known on Linux.
func descriptorsLeft() int { return math.MaxInt }
