package document

import (
	"fmt"
	"strings"
)

// DidYouMean says what somebody may have meant who wrote that word instead of one of the candidates; otherwise is what to say when it is like none.
func DidYouMean(word string, candidates []string, otherwise string) string {
	if near, ok := nearest(word, candidates); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// nearest returns the candidate that a word may have been meant to be: one or two slips away, and more like it than not; else the first that begins with
// it, however either is cut into words.
func nearest(word string, candidates []string) (string, bool) {
	best, distance := "", min(2, len(word)/2)+1
	for _, c := range candidates {
		if d := slips(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	for _, c := range candidates {
		if best == "" && len(word) >= shortBeginning && strings.HasPrefix(letters.Replace(strings.ToLower(c)), letters.Replace(strings.ToLower(word))) {
			best = c
		}
	}
	return best, best != ""
}

// shortBeginning is how long a word is at least that may be the beginning of another: fewer letters say nothing.
const shortBeginning = 4

// letters leaves out what words of a name are joined by.
var letters = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// maxWord bounds what is compared: slips is quadratic, and no key is longer.
const maxWord = 64

// slips is the number of letters to insert, delete, replace or swap with their neighbour to make one word of the other.
func slips(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
