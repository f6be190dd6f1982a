package actor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Questions that either side answers. Ours alone answers watch, flood and bare.
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

// words reads a question. The first word that is not as it should be is kept as the error.
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

// is reports which of two words comes next: the first of them or the second.
func (w *words) is(yes, no string) bool {
	word := w.next()
	if word != yes && word != no && w.err == nil {
		w.err = fmt.Errorf("%q is neither %s nor %s", word, yes, no)
	}
	return word == yes
}

// answer is what there is to say of one round.
type answer struct {
	// Samples are times in nanoseconds, and how often each was measured.
	Samples  [][2]int64 `json:"samples,omitzero"`
	Calls    int        `json:"calls,omitzero"`
	Failures int        `json:"failures,omitzero"`
	Kills    int        `json:"kills,omitzero"`
	Bytes    float64    `json:"bytes,omitzero"` // of one actor
	Share    float64    `json:"share,omitzero"` // of one core
}

// shortest and longest are the times that a histogram tells apart, to three digits.
const (
	shortest = time.Nanosecond
	longest  = 2 * time.Minute
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(shortest), int64(longest), 3)
}

func note(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, shortest), longest))) // which is within its range
}

// timed is the answer that has these times.
func timed(h *hdrhistogram.Histogram) (a answer) {
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			a.Samples = append(a.Samples, [2]int64{b.From, b.Count})
		}
	}
	return a
}

// histogram are the times of an answer.
func (a answer) histogram() *hdrhistogram.Histogram {
	h := newHistogram()
	for _, s := range a.Samples {
		_ = h.RecordValues(min(max(s[0], int64(shortest)), int64(longest)), s[1]) // which is within its range
	}
	return h
}
