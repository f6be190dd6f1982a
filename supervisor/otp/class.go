package otp

// Class says how full a mailbox may be for a message still to be taken. All classes share one queue: what was sent first is
// handled first, whatever its class.
//
// Owed messages need no room because they have it already: each is one of a constant few that follow from something which was
// accepted before and has not ended yet (the end of a request, its cancellation, the answer to a question). A mailbox therefore never
// holds more than its limit and those few for each of the things accepted. A message for which no such argument can be made is
// Ordinary, and whoever sends it must be able to bear that it is refused.
type Class uint8

// Classes.
const (
	Ordinary  Class = iota // taken up to the limit of the mailbox
	Sheddable              // taken while less than half of it is taken: a flood of such leaves room for the rest
	Owed                   // always taken, as what the process has asked for itself is
)

// Classed is a message that is not Ordinary. Its class is that of its type.
type Classed interface{ Class() Class }

func (c Class) String() string { return name(c, "ordinary", "sheddable", "owed") }

// classOf is the class of a message.
func classOf(msg any) Class {
	if c, ok := msg.(Classed); ok {
		return c.Class()
	}
	return Ordinary
}
