package catalog

import (
	"strings"
	"testing"
	"time"
)

// A scenario is a line of events. A name is a change of a list, with a slash before whom it
// concerns. A dot is 100 ms. The lists in brackets are announced at that point.
func TestBurstOfChangesIsAnnouncedOnce(t *testing.T) {
	for name, scenario := range map[string]string{
		"one change":        "a . . [a] . . . . . .",
		"a burst":           "a a a . a . . [a] . . .",
		"two lists":         "a . b . [a] . [b] . .",
		"two at once":       "b a . . [a,b] . . .",
		"one after another": "a . . [a] a . . [a] . .",
		"without end": "a . a . a . a . a . a . a . a . a . a . a . a . a . a . a . a . a . a " +
			". a . a . [a] a . . [a] . .",
		"beside another":       "a . a . a . b a . a . [b] a . . [a]",
		"quiet for long":       ". . . . a . . [a] . . . . . . . . . . . . . a . . [a]",
		"nothing ever changed": ". . . .",
		"of two":               "a/x a/y . a/x . . [a/x/y] . . .",
		"of one after another": "a/x . . [a/x] a/y . . [a/y] . .",
	} {
		t.Run(name, func(t *testing.T) {
			var c Changes[string]
			// next is when the caller looks again, according to Due.
			now, next := time.Unix(0, 0), time.Time{}
			look := func() (due []string) {
				changes, wait := c.Due(now, strings.Compare)
				for _, change := range changes {
					due = append(due, strings.TrimSuffix(change.List+"/"+strings.Join(change.Of, "/"), "/"))
				}
				if next = (time.Time{}); wait > 0 {
					next = now.Add(wait)
				}
				return due
			}
			var got []string
			for _, word := range strings.Fields(scenario) {
				switch {
				case word == ".":
					got = append(got, word)
					now = now.Add(100 * time.Millisecond)
					if !next.IsZero() && !now.Before(next) {
						if due := look(); len(due) > 0 {
							got = append(got, "["+strings.Join(due, ",")+"]")
						}
					}
				case !strings.HasPrefix(word, "["):
					got = append(got, word)
					list, of, _ := strings.Cut(word, "/")
					if c.Note(list, of, now); next.IsZero() {
						look()
					}
				}
			}
			if s := strings.Join(got, " "); s != scenario {
				t.Errorf("got  %s\nwant %s", s, scenario)
			}
		})
	}
}
