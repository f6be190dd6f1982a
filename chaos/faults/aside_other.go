//go:build !linux

package faults

// lowerPriority does nothing: outside Linux a priority belongs to a whole process.
func lowerPriority() {}
