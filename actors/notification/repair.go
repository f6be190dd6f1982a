package notification

import (
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
