package notification

import (
	"maps"

	"mcpd/actors/internal/mend"
	"mcpd/supervisor/otp"
)

// repair makes what a crashed incarnation left sound again.
func (k *kept) repair() []otp.Dropped {
	var lost mend.Losses
	for range k.table.Repair(sound) {
		lost.Drop("subscriber", "nobody", nil)
	}
	for range k.queue.Repair(func(n *Notice) bool { return n != nil && n.Method != "" }) {
		lost.Drop("notification", "empty", nil)
	}
	if k.current.notice != nil && !k.current.sound() {
		lost.Drop("notification", "in no order", nil)
	}
	if !k.current.sound() {
		k.current = delivery{}
	}
	mend.Map(&k.away)
	maps.DeleteFunc(k.away, func(h Handler, _ bool) bool { return !k.table.Has(h) })
	maps.DeleteFunc(k.poison, func(h Handler, _ bool) bool { return !k.table.Has(h) })
	return lost
}

// sound reports whether a handler is one that can be called.
func sound(h Handler) bool {
	switch h := h.(type) {
	case nil:
		return false
	case Mailbox:
		return !h.Ref.IsZero()
	case *Function:
		return h != nil && h.Call != nil
	}
	return true
}
