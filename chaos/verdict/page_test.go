package verdict

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documentation page about reports has exactly the rows of the table.
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
