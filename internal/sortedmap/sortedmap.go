// Package sortedmap iterates over maps in the order of their keys, for loops whose effects others
// can observe: the effects happen in the same order each time.
package sortedmap

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Sorted iterates over a map from the least key to the greatest. Elements that are deleted
// meanwhile are skipped; elements that are added may be skipped.
func Sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] { return SortedBy(m, cmp.Compare[K]) }

// SortedBy is like Of, for keys that are compared by a function.
func SortedBy[K comparable, V any](m map[K]V, compare func(a, b K) int) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if len(m) == 0 { // the common case on the path of a request
			return
		}
		for _, k := range slices.SortedFunc(maps.Keys(m), compare) {
			if v, still := m[k]; still && !yield(k, v) {
				return
			}
		}
	}
}
