package actor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// question is a question to a side. Both sides answer all of these, except that only mcpd answers
// watch, flood and bare.
//
//	restart SIBLINGS paced|tight quiet|reports message|call TIMES
//	pool CHILDREN TIMES
//	subtree CHILDREN TIMES
//	isolation SIBLINGS MICROSECONDS quiet|reports MILLISECONDS actor|supervisor
//	call TIMES
//	idle ACTORS
//	watch ACTORS MILLISECONDS
//	flood MESSAGES TIMES
//	bare MESSAGES TIMES
type question []any

func (q question) String() string { return strings.TrimSuffix(fmt.Sprintln([]any(q)...), "\n") }

// words parses a question. It keeps the first invalid word as its error.
type words struct {
	left []string
	err  error
}

func (w *words) next() string {
	if len(w.left) == 0 {
		w.left = []string{""}
	}
	word := w.left[0]
	w.left = w.left[1:]
	return word
}

func (w *words) number() int {
	word := w.next()
	n, err := strconv.Atoi(word)
	if w.err == nil && (err != nil || n < 0) {
		w.err = fmt.Errorf("%q is no number", word)
	}
	return n
}

// is reads a word that must be one of two, and reports whether it is the first.
func (w *words) is(yes, no string) bool {
	word := w.next()
	if word != yes && word != no && w.err == nil {
		w.err = fmt.Errorf("%q is neither %s nor %s", word, yes, no)
	}
	return word == yes
}

// answer is the result of one round.
type answer struct {
	// Samples are times in nanoseconds, each with its number of occurrences.
	Samples  [][2]int64 `json:"samples,omitzero"`
	Calls    int        `json:"calls,omitzero"`
	Failures int        `json:"failures,omitzero"`
	Kills    int        `json:"kills,omitzero"`
	Bytes    float64    `json:"bytes,omitzero"` // of one actor
	Share    float64    `json:"share,omitzero"` // of one core
}

// shortest and longest bound the times in a histogram, which keeps three digits.
const (
	shortest = time.Nanosecond
	longest  = 2 * time.Minute
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(shortest), int64(longest), 3)
}

func note(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, shortest), longest))) // the value is in range
}

// timed returns an answer with these times.
func timed(h *hdrhistogram.Histogram) (a answer) {
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			a.Samples = append(a.Samples, [2]int64{b.From, b.Count})
		}
	}
	return a
}

// histogram returns the times of an answer.
func (a answer) histogram() *hdrhistogram.Histogram {
	h := newHistogram()
	for _, s := range a.Samples {
		// the values are in range
		_ = h.RecordValues(min(max(s[0], int64(shortest)), int64(longest)), s[1])
	}
	return h
}
