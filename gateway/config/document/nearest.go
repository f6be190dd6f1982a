package document

import (
	"fmt"
	"strings"
)

// DidYouMean suggests the candidate that is nearest to a misspelt word. It returns otherwise if
// no candidate is near.
func DidYouMean(word string, candidates []string, otherwise string) string {
	if near, ok := nearest(word, candidates); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// nearest returns the candidate that is probably meant by a word. It is the nearest one within
// two edits and half of the word's length, else the first one that begins with the word. The
// second comparison ignores the separators in names.
func nearest(word string, candidates []string) (string, bool) {
	best, distance := "", min(2, len(word)/2)+1
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	for _, c := range candidates {
		if best == "" && len(word) >= shortBeginning &&
			strings.HasPrefix(letters.Replace(strings.ToLower(c)), letters.Replace(strings.ToLower(word))) {
			best = c
		}
	}
	return best, best != ""
}

// shortBeginning is the least length of a word that is compared with the beginnings of
// candidates. Fewer letters say nothing.
const shortBeginning = 4

// letters removes the separators of a name.
var letters = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// maxWord bounds the compared words in bytes, because editDistance takes quadratic time. No key is
// longer.
const maxWord = 64

// editDistance returns the number of edits that turn one word into the other. An edit inserts,
// deletes or replaces a letter, or swaps it with its neighbour.
func editDistance(a, b string) int {
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
