package catalog

import "mcpd/actors/catalog/internal/recovery"

// Constants for tests outside this package.
const (
	FirstPause = recovery.FirstPause
	LastPause  = recovery.LastPause
	Steady     = recovery.Steady
	MaxGivenUp = recovery.MaxGivenUp
	FirstProbe = recovery.FirstProbe
	LastProbe  = recovery.LastProbe
	ProbeWait  = recovery.ProbeWait
	FirstDial  = recovery.FirstDial
)
