package otp

// Class says how full the mailbox of an actor may be for a message still to be accepted. All
// classes share one queue: messages are handled in the order in which they were sent, whatever
// their class.
//
// Reserved (Reserved) messages are always accepted, because their number is bounded: there are only
// a constant few for each message that was accepted before and is not finished. Examples are the
// end of a request, its cancellation, and the answer to a question. So a mailbox never holds more
// than its limit and these few for each accepted message. A message without such a bound is
// Ordinary, and its sender must be able to handle a refusal.
type Class uint8

// Classes.
const (
	// Ordinary messages are accepted up to the limit of the mailbox.
	Ordinary Class = iota
	// BestEffort messages are accepted while fewer than half of the limit wait, so that a flood of
	// them leaves room for others.
	BestEffort
	// Reserved messages are reserved: they are always accepted, like the replies and timers that the
	// process asked for itself.
	Reserved
)

// Classed is a message whose class is not Ordinary. All messages of one type have the same class.
type Classed interface{ Class() Class }

func (c Class) String() string { return name(c, "ordinary", "sheddable", "owed") }

// classOf returns the class of a message.
func classOf(msg any) Class {
	if c, ok := msg.(Classed); ok {
		return c.Class()
	}
	return Ordinary
}
