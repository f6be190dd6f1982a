package client

import (
	"fmt"
	"slices"
	"strings"

	"mcpd/actors/client/internal/questions"
	"mcpd/protocol"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// asking tells the first connection which dialog an instance has; nil for none. An instance sends
// at most four for each question: when it is asked, when calls may pass it and when they may not,
// and when it is closed. So its class is reserved.
type asking struct {
	ref otp.Ref
	has *questions.Dialog
}

// yield asks an instance to give up its abandoned questions, because calls wait. It is sent again
// while they do, so its class is best-effort.
type yield struct{}

func (asking) Class() otp.Class { return otp.Reserved }
func (yield) Class() otp.Class  { return otp.BestEffort }

// dialog returns the oldest dialog of this connection; nil for none.
func (c *Connection) dialog() (oldest *questions.Dialog) {
	for _, o := range c.questions.During(c.inFlight) {
		if d := c.dialogOf(o); oldest == nil || d.Since.Before(oldest.Since) {
			oldest = &d
		}
	}
	if oldest != nil {
		oldest.Passable, _ = c.passable()
	}
	return oldest
}

func (c *Connection) inFlight(exchange uint64) bool { return c.inflightOf(exchange) != nil }

func (c *Connection) dialogOf(o *openQuestion) questions.Dialog {
	if p, ok := o.To.Owner.(Presence); ok {
		return o.Dialog(p.Unreached(c.p.Now()))
	}
	return o.Dialog(0)
}

// allDialogs returns the dialogs of this connection and of all its instances.
func (c *Connection) allDialogs() (all []questions.Dialog) {
	if d := c.dialog(); d != nil {
		all = append(all, *d)
	}
	for _, d := range c.instances.Asking() {
		all = append(all, *d)
	}
	return all
}

// tellAsking tells this connection's dialog to the first connection and the tree, if it has
// changed.
func (c *Connection) tellAsking() {
	if c.questions.Len() == 0 && c.dialogs.Shown() == nil {
		return
	}
	d := c.dialog()
	if !c.dialogs.Show(d) {
		return
	}
	if c.primary != (otp.Ref{}) {
		_ = c.p.Send(c.primary, asking{c.p.Self(), d})
	}
	c.showWaits()
}

// asksNow records the dialog of an instance. Calls that wait may now be able to pass it.
func (c *Connection) asksNow(m asking) {
	if c.instances.SetDialog(m.ref, m.has); m.has != nil {
		c.dialogs.NoteAsker(m.has.Asker)
	}
	c.distribute()
}

// giveUp refuses the questions whose client is gone, or silent for too long, so that their calls
// end and others can run.
func (c *Connection) giveUp() {
	now := c.p.Now()
	for id, o := range c.questions.During(c.inFlight) {
		d := c.dialogOf(o)
		reason := d.Abandoned(now, c.o.QuestionWait())
		if reason == "" {
			continue
		}
		at := c.where()
		at.Session = d.Session
		c.o.Emit(telemetry.QuestionGivenUp{
			Where: at, Method: d.Method, Cause: reason, After: now.Sub(d.Since),
		})
		c.dropQuestion(id)
		c.refuse(o.ID, o.Method, &protocol.Error{
			Condition: protocol.ConditionTimeout,
			Message:   "no client answers this question: " + reason + ", and calls of others wait",
		})
	}
}

// maxWaiters bounds the sessions that the tree names as waiting.
const maxWaiters = 3

// waitsFor says for the tree which user is being asked here, and whose calls wait for which users.
// It is empty when there is no dialog.
func (c *Connection) waitsFor() string {
	var parts []string
	if d := c.dialogs.Shown(); d != nil {
		parts = append(parts, fmt.Sprintf("asks session %s since %s: %s",
			d.Session, d.Since.UTC().Format("15:04:05"), d.Method))
	}
	if c.dialogs.Delays() {
		parts = append(parts, fmt.Sprintf("calls of sessions %s wait for the users of sessions %s",
			strings.Join(c.waiters(), ", "), questions.Sessions(c.allDialogs())))
	}
	return strings.Join(parts, "; ")
}

// waiters returns some of the sessions whose calls are delayed.
func (c *Connection) waiters() (rows []string) {
	for _, x := range c.queue {
		if _, waits := c.dialogs.Delayed(c.p.Now(), x.ID); waits {
			rows = append(rows, x.Session)
		}
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	return rows[:min(len(rows), maxWaiters)]
}
