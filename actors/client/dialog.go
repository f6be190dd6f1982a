package client

import (
	"fmt"
	"strings"
	"time"

	"mcpd/internal/order"
)

// dialog is a question that a server asks a user during a call. A server on a pipe takes no other call
// that may ask its user until the question is answered.
type dialog struct {
	session string    // of the user
	method  string    // of the question
	asker   string    // tool or prompt that asks: see asker
	since   time.Time // when it was asked
	// away is how long the client has had no stream on which it could be told anything. It is zero for
	// a client of 2026-07-28: that answers by another request, and until then nobody knows whether it
	// is there.
	away   time.Duration
	modern bool
	// passable is since when other calls may be written beside the one that asks; zero when they may
	// not. It is set in the dialog of a connection only.
	passable time.Time
}

// abandoned says why the user is not waited for any longer once other calls need the server. It is
// empty while the user may still answer.
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
	return fmt.Sprintf("session %s is asked %s for %s",
		d.session, d.method, now.Sub(d.since).Round(time.Second))
}

// same reports whether two connections' dialogs look the same from outside. Nil is no dialog.
func (d *dialog) same(other *dialog) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.since.Equal(other.since) && d.passable.Equal(other.passable)
}

// dialogOf is the dialog that an open question is; nil when it is none.
func (c *Connection) dialogOf(o *open) *dialog {
	if o.drive != nil || o.late != nil {
		return nil
	}
	f := c.flightOf(o.call)
	if f == nil {
		return nil
	}
	d := &dialog{
		session: f.x.Session, method: o.method, asker: asker(f.x),
		since: o.since, modern: o.bound,
	}
	if p, ok := f.x.Owner.(Presence); ok && !d.modern {
		d.away = p.Unreached(c.p.Now())
	}
	return d
}

// dialog is the oldest dialog of this connection; nil for none.
func (c *Connection) dialog() (oldest *dialog) {
	for _, o := range order.Of(c.open) {
		if d := c.dialogOf(o); d != nil && (oldest == nil || d.since.Before(oldest.since)) {
			oldest = d
		}
	}
	if oldest != nil {
		oldest.passable, _ = c.askedSince()
	}
	return oldest
}

// dialogs are the dialogs of this connection and of all its instances.
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

// inWords says which users are asked what, and for how long.
func inWords(dialogs []dialog, now time.Time) string {
	words := make([]string, len(dialogs))
	for i, d := range dialogs {
		words[i] = d.words(now)
	}
	return strings.Join(words, "; ")
}

// sessionsOf names the sessions of dialogs.
func sessionsOf(dialogs []dialog) string {
	rows := make([]string, len(dialogs))
	for i, d := range dialogs {
		rows[i] = d.session
	}
	return strings.Join(rows, ", ")
}
