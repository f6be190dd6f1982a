package questions

import "time"

const (
	// MaxAskers bounds the tools and prompts that are remembered as asking their user.
	MaxAskers = 256
	// MaxName is the longest name that is remembered, in bytes.
	MaxName = 256
	// Grace is how long a call whose question was given up may take to end, before the calls that wait
	// for it are refused.
	Grace = time.Second
)

// Dialogs records which calls ask users, and which calls wait for them. The zero Dialogs has none.
type Dialogs struct {
	askers  map[string]bool
	delayed map[uint64]time.Time // since when calls wait, by exchange
	shown   *Dialog              // of the connection, as the tree and the first connection know it
}

// NoteAsker remembers that a tool, prompt or resource asks its user. An empty name is not
// remembered.
func (d *Dialogs) NoteAsker(asker string) {
	if asker == "" || len(d.askers) >= MaxAskers {
		return
	}
	if d.askers == nil {
		d.askers = map[string]bool{}
	}
	d.askers[asker] = true
}

// Asks reports whether an asker is remembered.
func (d *Dialogs) Asks(asker string) bool { return d.askers[asker] }

// Delay records which calls wait now. It reports whether none did before, and whether their number
// has changed.
func (d *Dialogs) Delay(now time.Time, calls []uint64) (begins, changed bool) {
	before := d.delayed
	if d.delayed = nil; len(calls) > 0 {
		d.delayed = make(map[uint64]time.Time, len(calls))
	}
	for _, id := range calls {
		d.delayed[id] = now
		if since, known := before[id]; known {
			d.delayed[id] = since
		}
	}
	return len(before) == 0 && len(calls) > 0, len(before) != len(calls)
}

// Delays reports whether calls wait.
func (d *Dialogs) Delays() bool { return len(d.delayed) > 0 }

// Delayed returns how long a call has waited, and whether it waits.
func (d *Dialogs) Delayed(now time.Time, call uint64) (time.Duration, bool) {
	since, ok := d.delayed[call]
	return now.Sub(since), ok
}

// Show records the oldest dialog of a connection, nil for none. It reports whether that looks
// different from outside than the one before.
func (d *Dialogs) Show(oldest *Dialog) bool {
	if oldest.Same(d.shown) {
		return false
	}
	d.shown = oldest
	return true
}

// Shown returns that dialog.
func (d *Dialogs) Shown() *Dialog { return d.shown }
