package verdict

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page that says how to read a report has every row of the table, and no other.
func TestPageTellsWhatIsJudged(t *testing.T) {
	page, err := os.ReadFile("../../docs/chaos-report.md")
	if err != nil {
		t.Fatal(err)
	}
	judged := regexp.MustCompile(`^\| [IE][0-9]+ \|`)
	var want, got []string
	for _, row := range Table {
		want = append(want, "| "+row.ID+" | "+row.Text+" |")
	}
	for line := range strings.Lines(string(page)) {
		if judged.MatchString(line) {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
