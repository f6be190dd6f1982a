package configuration

import (
	"maps"
	"slices"

	"mcpd/actors/internal/mend"
	"mcpd/supervisor/otp"
)

// repair makes what a crashed incarnation left sound again. The next reload finds the tenants that leave anew.
func (k *kept) repair() []otp.Dropped {
	mend.Map(&k.leaving)
	var lost mend.Losses
	k.queue = slices.DeleteFunc(k.queue, func(call *Reload) bool { return lost.If(call == nil, "reload", "for nobody") })
	maps.DeleteFunc(k.leaving, func(name string, l *leaving) bool { return lost.If(name == "" || l == nil, "tenant", "missing") })
	k.unsure = k.unsure || len(lost) > 0
	return lost
}
