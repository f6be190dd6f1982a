// Package drops makes actors report the notifications and replies that they drop, at a bounded
// rate. It does not know why one is dropped.
package drops

import (
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/drops"
)

// Every is the shortest time between two reports of an actor about drops for one server and one
// reason.
const Every = drops.Every

// Drops collects the drops of one incarnation of an actor. While none wait to be reported it has no
// timer, and before the first it is no more than its fields.
//
// An incarnation that is stuck and replaced does not report the drops since its last event, which
// are those of less than Every. The sums belong to its goroutine, which may return and use them at
// any time, so they are no part of the carried state.
type Drops struct {
	tally drops.Tally
	timed bool // a Due is on its way
}

// Due is the timer message of an actor that uses Drops. The actor passes it to Drops.Due.
type Due struct{}

// Drop reports a dropped notification, now or together with others when a Due comes.
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

// Due reports the drops that have waited long enough.
func (d *Drops) Due(p *otp.Process, emit telemetry.Sink) {
	d.timed = false
	for _, e := range d.tally.Due(p.Now()) {
		emit(e)
	}
	d.time(p)
}

// time starts the timer for the next Due, if any drops wait.
func (d *Drops) time(p *otp.Process) {
	if d.timed {
		return
	}
	if wait, any := d.tally.Next(p.Now()); any {
		d.timed = true
		p.After(wait, Due{})
	}
}

// End reports all waiting drops. It is for Terminate, whatever the reason.
func (d *Drops) End(emit telemetry.Sink) {
	for _, e := range d.tally.Rest() {
		emit(e)
	}
}
