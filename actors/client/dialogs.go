package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpd/actors/request"
	"mcpd/internal/order"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// Where a server has as many instances as it may, and users are being asked on all of them, calls that
// would ask their user too wait. They do not wait for strangers without end: a question whose client is
// gone, or has been silent for too long, is given up, and a call that has waited for too long is refused
// with the reason.

// dialog is a question during a call. Its server works on nothing else until it has the answer.
type dialog struct {
	session string    // of whoever is asked
	method  string    // of the question
	asker   string    // tool or prompt that asks: see asker
	since   time.Time // when it was asked
	// away is how long nothing can be said to the client. A client of 2026-07-28 answers by another request,
	// so nobody knows before that whether it is there.
	away   time.Duration
	modern bool
}

// abandoned says why nobody is waited for any more, once a call has to wait for that; empty while
// somebody may answer.
func (d dialog) abandoned(now time.Time, wait time.Duration) string {
	switch silent := now.Sub(d.since); {
	case d.modern && silent >= wait:
		return "its client has not come back for " + silent.Round(time.Second).String()
	case !d.modern && d.away >= GoneAfter:
		return "its client is gone"
	}
	return ""
}

func (d dialog) words(now time.Time) string {
	return fmt.Sprintf("session %s is asked %s for %s", d.session, d.method, now.Sub(d.since).Round(time.Second))
}

// Messages between instances: asking tells the first connection of the dialog that an instance has; nil
// for none. Owed: two for each question. yield has an instance give up a question that is abandoned; it
// is sent again. Sheddable.
type (
	asking struct {
		ref otp.Ref
		has *dialog
	}
	yield struct{}
)

func (asking) Class() otp.Class { return otp.Owed }
func (yield) Class() otp.Class  { return otp.Sheddable }

// yieldGrace is how long an instance may take to end a call whose question was given up, before calls
// that wait for it are refused.
const yieldGrace = time.Second

// dialogOf is the dialog that a question of a call is; nil for any other question.
func (c *Connection) dialogOf(o *open) *dialog {
	if o.drive != nil || o.late != nil {
		return nil
	}
	for _, f := range c.calls {
		if f.x.ID == o.call {
			d := &dialog{session: f.x.Session, method: o.method, asker: asker(f.x), since: o.since, modern: o.bound}
			if p, ok := f.x.Owner.(Presence); ok && !d.modern {
				d.away = p.Unreached(c.p.Now())
			}
			return d
		}
	}
	return nil
}

// dialog is the oldest of this connection's own, nil for none.
func (c *Connection) dialog() (oldest *dialog) {
	for _, o := range order.Of(c.open) {
		if d := c.dialogOf(o); d != nil && (oldest == nil || d.since.Before(oldest.since)) {
			oldest = d
		}
	}
	return oldest
}

// tellAsking tells the first connection, and the tree, when that is another than before.
func (c *Connection) tellAsking() {
	if len(c.open) == 0 && c.showsAsked == nil {
		return
	}
	d := c.dialog()
	if same := d == nil && c.showsAsked == nil || d != nil && c.showsAsked != nil && d.since.Equal(c.showsAsked.since); same {
		return
	}
	c.showsAsked = d
	if c.primary != (otp.Ref{}) {
		_ = c.p.Send(c.primary, asking{c.p.Self(), d})
	}
	c.showWaits()
}

// asksNow takes note of an instance's dialog.
func (c *Connection) asksNow(m asking) {
	if i := c.instance(m.ref); i != nil {
		i.asks = m.has
	}
	if m.has != nil {
		c.remember(m.has.asker)
	}
	c.spread()
}

// dialogs are those of all instances.
func (c *Connection) dialogs() (all []dialog) {
	if d := c.dialog(); d != nil {
		all = append(all, *d)
	}
	for _, i := range c.instances {
		if i.busy && i.asks != nil {
			all = append(all, *i.asks)
		}
	}
	return all
}

// press sees to calls that wait behind dialogs while there can be no further instance.
func (c *Connection) press() {
	dialogs := c.behindDialogs()
	if len(dialogs) == 0 {
		if c.waiting != nil {
			c.waiting = nil
			c.showWaits()
		}
		return
	}
	now := c.p.Now()
	c.noteWaiting(dialogs)
	c.giveUp()
	for _, i := range c.instances {
		if i.asks != nil {
			_ = c.p.Send(i.Ref, yield{})
		}
	}
	for _, x := range slices.Clone(c.queue) {
		if waited := now.Sub(c.waiting[x.ID]); waited >= c.o.QuestionWait()+yieldGrace {
			c.queue = slices.DeleteFunc(c.queue, func(other *request.Exchange) bool { return other == x })
			c.settled(x.ID)
			c.o.Emit(telemetry.Rejected{Where: c.about(x), Reason: protocol.ConditionTimeout.String(), Method: x.Method})
			complete(c.o.Requests, x, nil, c.usersAsked(waited, dialogs).Unanswered(c.o.Server, false))
		}
	}
	c.lookAgain(Patience)
}

// behindDialogs are the dialogs that calls wait behind here; none when they wait for something else.
func (c *Connection) behindDialogs() []dialog {
	if len(c.queue) == 0 || c.state != Ready || c.primary != (otp.Ref{}) || c.stuffed {
		return nil
	}
	if x := c.queue[0]; c.free(x) || c.mayGrow(x) {
		return nil
	}
	return c.dialogs()
}

// noteWaiting notes since when calls wait, and tells once who waits for whom.
func (c *Connection) noteWaiting(dialogs []dialog) {
	now, before := c.p.Now(), c.waiting
	c.waiting = map[uint64]time.Time{}
	for _, x := range c.queue {
		c.waiting[x.ID] = now
		if since, known := before[x.ID]; known {
			c.waiting[x.ID] = since
		}
	}
	if before == nil {
		c.o.Emit(telemetry.CallsWait{
			Where: c.about(c.queue[0]), Count: uint32(len(c.queue)), Method: c.queue[0].Method,
			Cause: telemetry.Clean(told(dialogs, now), telemetry.MaxValue), For: c.o.QuestionWait(),
		})
	}
	if len(before) != len(c.waiting) {
		c.showWaits()
	}
}

// giveUp answers in the place of clients that are gone, or silent.
func (c *Connection) giveUp() {
	now := c.p.Now()
	for id, o := range order.Of(c.open) {
		d := c.dialogOf(o)
		if d == nil {
			continue
		}
		why := d.abandoned(now, c.o.QuestionWait())
		if why == "" {
			continue
		}
		at := c.where()
		at.Session = d.session
		c.o.Emit(telemetry.QuestionGivenUp{Where: at, Method: d.method, Cause: why, After: now.Sub(d.since)})
		c.dropQuestion(id)
		c.refuse(o.id, o.method, &protocol.Error{
			Condition: protocol.ConditionTimeout,
			Message:   "nobody answers this: " + why + ", and calls of others wait",
		})
	}
}

// told says who is asked.
func told(dialogs []dialog, now time.Time) string {
	words := make([]string, len(dialogs))
	for i, d := range dialogs {
		words[i] = d.words(now)
	}
	return strings.Join(words, "; ")
}

// usersAsked refuses a call that has waited for other users.
func (c *Connection) usersAsked(waited time.Duration, dialogs []dialog) *protocol.Error {
	return &protocol.Error{
		Condition: protocol.ConditionTimeout, RetryAfter: askersRetry,
		Message: fmt.Sprintf(
			"server %s has as many instances as there may be, %d, and waits for the answers of %d other users; "+
				"this call, which would ask its user too, has waited for %s",
			c.o.Server, c.most(), len(dialogs), waited.Round(time.Second)),
	}
}

// waits says who waits for whom, for the tree; empty when nobody does.
func (c *Connection) waitsFor() string {
	var parts []string
	if c.showsAsked != nil {
		parts = append(parts, fmt.Sprintf("asks session %s since %s: %s",
			c.showsAsked.session, c.showsAsked.since.UTC().Format("15:04:05"), c.showsAsked.method))
	}
	if len(c.waiting) > 0 {
		rows := map[string]bool{}
		for _, x := range c.queue {
			rows[x.Session] = true
		}
		var who []string
		for row := range order.Of(rows) {
			who = append(who, row)
		}
		parts = append(parts, fmt.Sprintf("calls of sessions %s wait for the users of sessions %s",
			strings.Join(who[:min(len(who), 3)], ", "), asked(c.dialogs())))
	}
	return strings.Join(parts, "; ")
}

// asked are the sessions of dialogs.
func asked(dialogs []dialog) string {
	rows := make([]string, len(dialogs))
	for i, d := range dialogs {
		rows[i] = d.session
	}
	return strings.Join(rows, ", ")
}

// about is where a call belongs.
func (c *Connection) about(x *request.Exchange) telemetry.Where {
	at := c.where()
	at.Session = x.Session
	return at
}
