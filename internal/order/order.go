// Package order goes through maps in an order of their keys, for who does something for each that others can tell: they are to see it done the
// same way each time.
package order

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Of goes through a map from the least key to the greatest. What is deleted meanwhile is left out, what is added may be.
func Of[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] { return By(m, cmp.Compare[K]) }

// By is Of for keys that are compared by a function.
func By[K comparable, V any](m map[K]V, compare func(a, b K) int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if len(m) == 0 { // as most are that are gone through on the way of a request
			return
		}
		for _, k := range slices.SortedFunc(maps.Keys(m), compare) {
			if v, still := m[k]; still && !yield(k, v) {
				return
			}
		}
	}
}
