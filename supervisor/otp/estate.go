package otp

import "sync"

// Estate is an heir that can be taken from an incarnation that is stuck: all of it is used under a lock, so that it can be taken away between two
// uses, and a goroutine that comes back later finds it gone. It is for state that others wait for; whoever can ask again does without.
type Estate[T any] struct {
	mu    sync.Mutex // guards the fields below
	value T
	taken bool
}

var _ Fenced = (*Estate[int])(nil)

// NewEstate makes an estate of a value to which nobody else refers.
func NewEstate[T any](v T) *Estate[T] { return &Estate[T]{value: v} }

// Use calls f with the value. F must not wait for anything, nor keep what it was given, because one that is stuck in it takes the estate along.
// Use panics with ErrStuck when the estate was taken: it is the end of an incarnation that was given up.
func (e *Estate[T]) Use(f func(v *T)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken {
		panic(ErrStuck)
	}
	f(&e.value)
}

// Fence takes the value away; see Fenced. There is none when it is in use.
func (e *Estate[T]) Fence() any {
	if !e.mu.TryLock() {
		return nil
	}
	defer e.mu.Unlock()
	if e.taken {
		return nil
	}
	e.taken = true
	return &Estate[T]{value: e.value}
}
