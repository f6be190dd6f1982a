package stage

import "mcpd/supervisor/otp"

// Heirs makes incarnations that have carried state crash, as if an earlier crash had damaged that
// state.
type Heirs struct {
	Fatal bool // all such incarnations crash
}

// Worker is otp.Worker for incarnations that crash so.
func (h *Heirs) Worker(f func() otp.Behaviour) otp.Start {
	return otp.Worker(func() otp.Behaviour { return &heiress{f(), h} })
}

type heiress struct {
	otp.Behaviour
	h *Heirs
}

func (b *heiress) Init(p *otp.Process) error {
	if b.h.Fatal && p.Heir() != nil {
		panic("cannot live with its heir")
	}
	return b.Behaviour.Init(p)
}
