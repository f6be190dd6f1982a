package notification

import (
	"errors"
	"iter"
	"slices"

	"mcpd/supervisor/otp"
)

// keepRoom is the capacity for handlers that an idle dispatcher keeps for the next delivery.
const keepRoom = 1024

// delivery is one notification on its way to all handlers that were registered for it when its turn
// came. It is part of the carried state, so that after a crash in its middle no handler gets it
// twice and none is left out.
type delivery struct {
	notice *Notice // nil when there is none
	to     []Handler
	at     int // how many of the handlers had their turn
	// busy says that the last of those is being called. After a crash it is still set, because that
	// handler caused the crash.
	busy bool
}

func (v *delivery) begin(n *Notice, to iter.Seq[Handler]) {
	v.end()
	v.notice, v.to = n, slices.AppendSeq(v.to, to)
}

// next returns the handler whose turn it is.
func (v *delivery) next() Handler {
	h := v.to[v.at]
	v.at, v.busy = v.at+1, true
	return h
}

func (v *delivery) done() { v.busy = false }

// over reports whether every handler had its turn.
func (v *delivery) over() bool { return v.at >= len(v.to) }

// end drops the notification and the handlers.
func (v *delivery) end() {
	clear(v.to)
	*v = delivery{to: v.to[:0]}
	if cap(v.to) > keepRoom {
		v.to = nil
	}
}

// interrupted returns the handler that was being called when an incarnation crashed.
func (v *delivery) interrupted() (h Handler, was bool) {
	if !v.busy {
		return nil, false
	}
	v.busy = false
	return v.to[v.at-1], true
}

// errPoison is what a careful call returns when the handler panics.
var errPoison = errors.New("the handler panics")

// suspect notes that a handler has crashed an incarnation. From then on its panics are caught, and
// the next one removes it.
func (k *carriedState) suspect(h Handler) {
	if k.poison == nil {
		k.poison = map[Handler]bool{}
	}
	if k.table.Has(h) {
		k.poison[h] = true
	}
}

// recovering calls a handler that has crashed an incarnation before. A handler that panics each
// time would use up the restarts that other handlers need.
func recovering(h Handler) func(p *otp.Process, n *Notice) error {
	return func(p *otp.Process, n *Notice) (err error) {
		defer func() {
			switch v := recover(); {
			case v == any(otp.ErrStuck):
				panic(v) // of Process.Check: this incarnation is over
			case v != nil:
				err = errPoison
			}
		}()
		return h.take(p, n)
	}
}
