package testrig

import "mcpd/supervisor/otp"

// CrashRestored makes incarnations that have carried state crash, as if an earlier crash had
// damaged that state.
type CrashRestored struct {
	Fatal bool // all such incarnations crash
}

// Worker is otp.Worker for incarnations that crash so.
func (h *CrashRestored) Worker(f func() otp.Behaviour) otp.Start {
	return otp.Worker(func() otp.Behaviour { return &crashRestored{f(), h} })
}

type crashRestored struct {
	otp.Behaviour
	h *CrashRestored
}

func (b *crashRestored) Init(p *otp.Process) error {
	if b.h.Fatal && p.CarriedState() != nil {
		panic("cannot live with its carried state")
	}
	return b.Behaviour.Init(p)
}
