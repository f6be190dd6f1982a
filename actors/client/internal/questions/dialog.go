package questions

import (
	"fmt"
	"strings"
	"time"
)

// Dialog is a question that a server asks a user during a call.
type Dialog struct {
	Caller
	Method string
	Since  time.Time
	// Away is how long the client has had no stream on which it could be told anything. It is zero for
	// a client of 2026-07-28: that answers in another request, and until then nobody knows whether it
	// is there.
	Away   time.Duration
	Modern bool
	// Passable is since when other calls may be written beside the one that asks; zero when they may
	// not. It is set only in the dialog of a connection.
	Passable time.Time
}

// Dialog returns what others see of the question. The argument says how long its client has been
// away.
func (q *Question[To]) Dialog(away time.Duration) Dialog {
	d := Dialog{Caller: q.Of, Method: q.Method, Since: q.Since, Modern: q.OnlyDuringCall}
	if !d.Modern {
		d.Away = away
	}
	return d
}

// Abandoned returns why the user is no longer waited for once other calls need the server. It is
// empty while the user may still answer.
func (d Dialog) Abandoned(now time.Time, wait time.Duration) string {
	switch silent := now.Sub(d.Since); {
	case d.Modern && silent >= wait:
		return "its client has not come back for " + silent.Round(time.Second).String()
	case !d.Modern && d.Away >= GoneAfter:
		return "its client is gone"
	}
	return ""
}

// Same reports whether two dialogs look the same from outside. Nil is no dialog.
func (d *Dialog) Same(other *Dialog) bool {
	if d == nil || other == nil {
		return d == other
	}
	return d.Since.Equal(other.Since) && d.Passable.Equal(other.Passable)
}

// InWords says which users are asked what, and for how long.
func InWords(dialogs []Dialog, now time.Time) string {
	words := make([]string, len(dialogs))
	for i, d := range dialogs {
		words[i] = fmt.Sprintf("session %s is asked %s for %s",
			d.Session, d.Method, now.Sub(d.Since).Round(time.Second))
	}
	return strings.Join(words, "; ")
}

// Sessions names the sessions of dialogs.
func Sessions(dialogs []Dialog) string {
	rows := make([]string, len(dialogs))
	for i, d := range dialogs {
		rows[i] = d.Session
	}
	return strings.Join(rows, ", ")
}
