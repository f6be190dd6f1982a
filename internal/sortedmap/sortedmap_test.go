package sortedmap

import (
	"slices"
	"strings"
	"testing"
)

func TestAMapIsGoneThroughInOrder(t *testing.T) {
	m := map[int]string{}
	for i := range 100 {
		m[i] = strings.Repeat("x", 100-i)
	}
	var up, down []int
	for k := range Sorted(m) {
		up = append(up, k)
		delete(m, k+1) // delete every other key
	}
	for k, v := range SortedBy(m, func(a, b int) int { return b - a }) {
		if down = append(down, k); v != m[k] || len(down) == 3 {
			break
		}
	}
	if !slices.IsSorted(up) || len(up) != 50 || !slices.Equal(down, []int{98, 96, 94}) {
		t.Errorf("up %v, down %v", up, down)
	}
}
