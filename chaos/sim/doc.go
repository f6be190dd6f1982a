// Package sim runs the host inside of a simulation.
package sim
