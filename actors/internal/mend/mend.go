// Package mend is what actors make an heir sound with. It knows no actor, and not what is sound.
package mend

import "mcpd/supervisor/otp"

// Losses are the parts of an heir that are not taken over.
type Losses []otp.Dropped

// Drop takes note of a part. The waiter is told; nil when nobody waits.
func (l *Losses) Drop(part, reason string, waiter otp.Failer) {
	*l = append(*l, otp.Dropped{Part: part, Reason: reason, Waiter: waiter})
}

// If takes note of a part for which nobody waits, if it is bad, and reports whether it is: what slices.DeleteFunc and maps.DeleteFunc want to
// know.
func (l *Losses) If(bad bool, part, reason string) bool {
	if bad {
		l.Drop(part, reason, nil)
	}
	return bad
}

// Map makes a map where there is none.
func Map[M ~map[K]V, K comparable, V any](m *M) {
	if *m == nil {
		*m = M{}
	}
}

// Again reports whether a key was seen before, and remembers it.
func Again[K comparable](seen map[K]bool, k K) bool {
	before := seen[k]
	seen[k] = true
	return before
}
