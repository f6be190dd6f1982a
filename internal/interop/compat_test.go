package interop

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"mcpd/protocol"
)

//go:generate go test -run ^TestEveryRevisionToEveryRevision$ . -update

var update = flag.Bool("update", false, "rewrite docs/compatibility.gen.md")

const compatDoc = "../../docs/compatibility.gen.md"

// dialEnd connects the client of a pair to an endpoint of a host, by transport.
var dialEnd = map[string]func(t *testing.T, at string, v protocol.Version) messageCarrier{
	overStdio: dialStdio, overStreamable: dialHTTP, overSSE: dialOldHTTP,
}

// pair is a client and a server.
type pair struct{ down, up end }

// Each feature works between each pair of client and server, for every revision over every
// transport of that revision, or the table says why the pair does not support it. Messages that a
// client or server receives are valid in its revision. The table is the documentation.
func TestEveryRevisionToEveryRevision(t *testing.T) {
	valid := newValidity(t)
	var mu sync.Mutex
	cells := map[pair][]string{}
	var all sync.WaitGroup
	servers := upstreams(t)
	for _, up := range servers {
		all.Go(func() { // the test mostly waits
			t.Run("server "+up.String(), func(t *testing.T) {
				for _, down := range allEnds() {
					t.Run("client "+down.String(), func(t *testing.T) {
						row := cell(t, down, up, valid)
						mu.Lock()
						defer mu.Unlock()
						cells[pair{down, up.end}] = row
					})
				}
			})
		})
	}
	all.Wait()
	for _, up := range servers {
		valid.checkServer(t, up)
	}
	valid.checkCoverage(t)
	if t.Failed() {
		return
	}
	text := compatTable(cells)
	if *update {
		if err := os.WriteFile(compatDoc, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(compatDoc); err != nil || string(have) != text {
		t.Errorf("%s is not current (%v): run go generate ./internal/interop", compatDoc, err)
	}
}

// cell tests every feature between one pair. For each feature it returns why the pair does not
// support it, or "".
func cell(t *testing.T, down end, up upstream, valid *validity) (row []string) {
	t.Helper()
	c := newMatrixClient(t, dialEnd[down.over](t, up.at, down.version), down.version, valid)
	for _, f := range compatFeatures {
		reason := f.unsupported(down.version, up.version)
		c.clearRecorded()
		switch wrong := f.works(c, up); {
		case reason == "" && wrong != "":
			t.Errorf("%s: %.600s", f.name, wrong)
		case reason != "" && wrong == "":
			t.Errorf("%s: works, although %s", f.name, reason)
		case reason != "" && !strings.Contains(wrong, f.instead):
			t.Errorf("%s: %.600s, want %s", f.name, wrong, f.instead)
		}
		row = append(row, reason)
	}
	return row
}
