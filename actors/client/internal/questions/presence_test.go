package questions

import (
	"testing"
	"time"
)

// A question that names no call is for the only client that is there. While others may be back at
// any moment nothing is decided. With several clients the question is for none.
func TestOnlyClientThatIsThereIsAsked(t *testing.T) {
	const here, late, gone = 0, GoneAfter - 1, GoneAfter
	for name, tt := range map[string]struct {
		away map[string]time.Duration
		want string
		soon bool
	}{
		"nobody":                     {},
		"one":                        {away: map[string]time.Duration{"a": here}, want: "a"},
		"one who is gone":            {away: map[string]time.Duration{"a": gone}, want: "a"},
		"two":                        {away: map[string]time.Duration{"a": here, "b": here}},
		"one, and one is gone":       {away: map[string]time.Duration{"a": here, "b": gone}, want: "a"},
		"one, and one has just left": {away: map[string]time.Duration{"a": here, "b": late}, soon: true},
		"one, and all kinds of left": {away: map[string]time.Duration{"a": here, "b": late, "c": gone},
			soon: true},
		"two, and one is gone": {away: map[string]time.Duration{"a": here, "b": here, "c": gone}},
		"all are gone":         {away: map[string]time.Duration{"a": gone, "b": gone}},
		"all have just left":   {away: map[string]time.Duration{"a": late, "b": gone}},
	} {
		if got, soon := OnlyPresent(tt.away); got != tt.want || soon != tt.soon {
			t.Errorf("%s: %q, %t, want %q, %t", name, got, soon, tt.want, tt.soon)
		}
	}
}
