// Package drops has actors tell of the notifications and replies that they drop, however many those are. It does not know why one is dropped.
package drops

import (
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/drops"
)

// Every is how far apart an actor tells of what it drops of one server for one reason.
const Every = drops.Every

// Drops are those of one incarnation of an actor. While none wait to be told it has no timer, and before the first it is no more than its fields.
//
// One that is stuck and replaced tells nobody of what has waited since its last event, which is less than Every: the sums are its goroutine's alone, and
// that may come back to them at any time, so that no heir can take them over.
type Drops struct {
	tally drops.Tally
	timed bool // a Due is on its way
}

// Due is what an actor that uses Drops is sent, and hands to Due.
type Due struct{}

// Drop tells of a notification that was dropped, or has the actor be sent a Due for it.
func (d *Drops) Drop(p *otp.Process, emit telemetry.Sink, e telemetry.NotificationDropped) {
	drop(d, p, emit, e)
}

// Reply does the same for a reply.
func (d *Drops) Reply(p *otp.Process, emit telemetry.Sink, e telemetry.ReplyDropped) {
	drop(d, p, emit, e)
}

func drop[E drops.Dropped](d *Drops, p *otp.Process, emit telemetry.Sink, e E) {
	if all, tell := drops.Drop(&d.tally, e, p.Now()); tell {
		emit(all)
		return
	}
	d.time(p)
}

// Due tells of what has waited long enough.
func (d *Drops) Due(p *otp.Process, emit telemetry.Sink) {
	d.timed = false
	for _, e := range d.tally.Due(p.Now()) {
		emit(e)
	}
	d.time(p)
}

// time has the actor be sent a Due if anything waits.
func (d *Drops) time(p *otp.Process) {
	if d.timed {
		return
	}
	if wait, any := d.tally.Next(p.Now()); any {
		d.timed = true
		p.After(wait, Due{})
	}
}

// End tells of all that waits. It is for Terminate, whatever the reason.
func (d *Drops) End(emit telemetry.Sink) {
	for _, e := range d.tally.Rest() {
		emit(e)
	}
}
