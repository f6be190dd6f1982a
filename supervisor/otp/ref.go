package otp

import "strings"

// Ref is the address of a row: a logical path in a tree. It stays valid across restarts of what
// runs in the row and of the supervisors above; it ends with the row. Refs are comparable, cheap to
// copy and safe for concurrent use. The zero Ref is an address at which nothing ever runs.
type Ref struct{ row *row }

// Failer is a message that is told when it will not be handled: its receiver crashed on it, stopped
// before it, or does not run. Fail is called once, from any goroutine, possibly while an abandoned
// worker still holds the message. It must return promptly.
type Failer interface{ Fail(reason error) }

// Send puts a message into the mailbox and returns at once. The sender gives the message away and
// must not change it afterwards. Its errors are ErrNoProc when nothing runs at this address and,
// depending on the Class of the message, ErrOverloaded when the mailbox is full. With either error
// the message was not accepted, and its Fail is not called.
func (r Ref) Send(msg any) error {
	if r.row == nil {
		return ErrNoProc
	}
	g := r.row.proc.Load()
	if g == nil {
		return ErrNoProc
	}
	return g.mailbox.offer(msg)
}

// Path returns the path of the row, "" for the zero Ref.
func (r Ref) Path() string {
	if r.row == nil {
		return ""
	}
	return r.row.path
}

// Incarnation returns how many incarnations have begun in this row, 0 before the first.
func (r Ref) Incarnation() uint64 {
	if r.row == nil {
		return 0
	}
	return r.row.inc.Load()
}

// Alive reports whether a process takes messages here: a running one, or one that is being
// restarted in place.
func (r Ref) Alive() bool { return r.row != nil && r.row.proc.Load() != nil }

// IsZero reports whether this is the zero Ref.
func (r Ref) IsZero() bool { return r.row == nil }

// Child returns the address of a row directly below this one, the zero Ref when there is none.
func (r Ref) Child(id string) Ref {
	if r.row == nil {
		return Ref{}
	}
	return Ref{r.row.find(id)}
}

// Compare orders addresses by their paths. It returns -1, 0 or +1, like strings.Compare.
func (r Ref) Compare(o Ref) int { return strings.Compare(r.Path(), o.Path()) }

func (r Ref) String() string { return r.Path() }
