package endings

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// journal is the file to which servers write the calls that reach them.
type journal struct{ file string }

func newJournal(t *testing.T) *journal {
	t.Helper()
	return &journal{filepath.Join(t.TempDir(), "journal")}
}

// executed returns how often each call has reached a server.
func (j *journal) executed(t *testing.T) map[string]int {
	t.Helper()
	f, err := os.Open(j.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	times := map[string]int{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var one struct{ Message, Pad string }
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("a line of the journal, %q: %v", lines.Text(), err)
		}
		times[one.Message+one.Pad]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return times
}
