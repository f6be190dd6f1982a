package catalog

import "mcpd/actors/catalog/internal/recovery"

// What the tests outside this package compare with.
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
