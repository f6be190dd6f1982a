package otp

import "context"

// Faults breaks rows on purpose, so that a program can test what becomes of it. A System calls it
// from many goroutines, on the way of every message: a method that has nothing to do must return
// at once. A panic in Receive, Run or BeforeInit is a crash of that row.
type Faults interface {
	// Attribute is called once, by NewSystem, with the function that returns the origin of a message,
	// "" for none; see Attributed.
	Attribute(origin func(msg any) string)
	// Receive is called before the row at path handles a message. It returns how many times the row
	// is to handle the message: 1 without a fault, 0 to lose it.
	BeforeReceive(path string, msg any) (times int)
	// MayStrike reports whether a fault may strike the row at path.
	MayStrike(path string) bool
	// BeforeRoutine is called at the start of a goroutine that the row at path owns, on behalf of
	// origin. The context is that of the goroutine.
	BeforeRoutine(ctx context.Context, path, origin string)
	// BeforeInit is called before the row at path starts. An error makes the start fail with it.
	BeforeInit(path string) error
}

type noFaults struct{}

func (noFaults) Attribute(func(any) string)                    {}
func (noFaults) BeforeReceive(string, any) int                 { return 1 }
func (noFaults) MayStrike(string) bool                         { return false }
func (noFaults) BeforeRoutine(context.Context, string, string) {}
func (noFaults) BeforeInit(string) error                       { return nil }
