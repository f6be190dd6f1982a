package experiment

import (
	"time"

	"mcpd/chaos/faults"
)

// Roles say which tenants are which.
type Roles struct {
	Target     string
	Bystanders []string
}

// Strike is one planned strike.
type Strike struct {
	At      time.Duration // since the phase began
	For     time.Duration
	Fault   int // which of the experiment's
	Kind    string
	Tenant  string
	Server  string
	Row     string
	Percent float64
	With    faults.Values
	Seed    uint64 // of what the fault draws itself
}
