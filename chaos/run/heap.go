package run

import (
	"context"
	"net/http"
	"regexp"
	"strconv"

	"mcpd/chaos/record"
	"mcpd/telemetry/admin"
)

// Of what only a collection shows. Whoever may not ask for one is told neither.
const (
	liveHeap = "live heap bytes"
	leaked   = "leaked goroutines" // of a host that was built with Go's experiment goroutineleakprofile; another has no such profile, and nothing is said
)

// Of the heap so much more may be in use afterwards: a share of what was, or for each tenant as much as a host keeps of its last requests, up to a
// bound that some seconds of load do not reach. What is kept of each call, or of each crash, and never let go, is more than either after a minute.
const (
	heapShare = 0.05
	heapKept  = 1 << 20
)

// historyBytes is the metric of what the host keeps for clients that come back. It is in the heap, and has a name, a bound and an end: after a flood
// it is more than before for as long as any client may be away.
const historyBytes = "mcpd_history_bytes"

// heap is the row of the heap.
func (r *run) heap(before, after holds) record.Holding {
	row := hold{name: liveHeap}.of(before, after)
	row.Share, row.Kept = heapShare, r.kept()
	return row
}

// kept is what the tenants of the run may come to keep.
func (r *run) kept() float64 { return heapKept * float64(len(r.traffic)) }

// collections are how often it is collected before it is read: what pools hold, or what has a finalizer, goes with a later one.
const collections = 3

// profiles are the texts of the host's profiles that end with a number, by what it says.
var profiles = []struct {
	name, path string
	number     *regexp.Regexp
}{
	{liveHeap, "/debug/pprof/heap?debug=1&gc=1", regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)},
	{leaked, "/debug/pprof/goroutineleak?debug=1", regexp.MustCompile(`^goroutineleak profile: total (\d+)`)},
}

// collect reads what the host holds after a collection into values, as far as it tells.
func (r *run) collect(ctx context.Context, values map[string]float64) {
	for _, p := range profiles {
		for range collections {
			data, err := r.operator.ask(ctx, http.MethodGet, p.path, admin.Write, nil)
			found := p.number.FindSubmatch(data)
			if err != nil || found == nil {
				break
			}
			values[p.name], _ = strconv.ParseFloat(string(found[1]), 64) // they are digits
		}
	}
}
