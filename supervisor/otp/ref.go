package otp

import "strings"

// Ref is the address of a row: a logical path in a tree. It stays valid across restarts of what runs there and across
// restarts of the supervisors above; it ends with the row. Refs are comparable, cheap to copy and safe for concurrent
// use. The zero Ref is an address at which nothing ever runs.
type Ref struct{ row *row }

// Failer is a message that wants to hear when it will not be handled: its receiver crashed on it, stopped before
// it, or is gone. Fail may be called from any goroutine, once, also while a worker that was abandoned still holds the
// message; it must return promptly.
type Failer interface{ Fail(reason error) }

// Send puts a message into the mailbox and returns at once. The message is given away: the sender must not change it
// afterwards. Errors are ErrNoProc and, depending on the message's Class, ErrOverloaded; with either the message was not accepted
// and Fail is not called.
func (r Ref) Send(msg any) error {
	if r.row == nil {
		return ErrNoProc
	}
	g := r.row.proc.Load()
	if g == nil {
		return ErrNoProc
	}
	return g.box.offer(msg)
}

// Path is the row's path, "" for the zero Ref.
func (r Ref) Path() string {
	if r.row == nil {
		return ""
	}
	return r.row.path
}

// Incarnation is how many incarnations have begun in this row; 0 before the first.
func (r Ref) Incarnation() uint64 {
	if r.row == nil {
		return 0
	}
	return r.row.inc.Load()
}

// Alive reports whether a process takes messages here: one that runs, or one that is being restarted in place.
func (r Ref) Alive() bool { return r.row != nil && r.row.proc.Load() != nil }

// IsZero reports whether this is the zero Ref.
func (r Ref) IsZero() bool { return r.row == nil }

// Child is the address of a row directly below this one, zero when there is none.
func (r Ref) Child(id string) Ref {
	if r.row == nil {
		return Ref{}
	}
	return Ref{r.row.find(id)}
}

// Compare orders addresses by their paths.
func (r Ref) Compare(o Ref) int { return strings.Compare(r.Path(), o.Path()) }

func (r Ref) String() string { return r.Path() }
