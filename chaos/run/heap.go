package run

import (
	"context"
	"net/http"
	"regexp"
	"strconv"

	"mcpd/chaos/record"
	"mcpd/telemetry/admin"
)

// Holdings that only a garbage collection shows. They are missing if the token does not allow
// profiles.
const (
	liveHeap = "live heap bytes"
	// leaked needs a host that was built with Go's experiment goroutineleakprofile. Other hosts have
	// no such profile, and the holding is missing.
	leaked = "leaked goroutines"
)

// The heap may grow by heapShare of its size before, or by heapKept for each tenant, which is what
// a host keeps of its last requests. A few seconds of load do not reach that bound. A leak of every
// call or of every crash exceeds both after a minute.
const (
	heapShare = 0.05
	heapKept  = 1 << 20
)

// historyBytes is the metric of the replay history that the host keeps for returning clients. It is
// part of the heap, but has a bound and expires: after a flood it is larger than before for as long
// as any client may be away.
const historyBytes = "mcpd_history_bytes"

// heap returns the holding of the live heap.
func (r *run) heap(before, after measurement) record.Holding {
	row := hold{name: liveHeap}.of(before, after)
	row.Share, row.Kept = heapShare, r.kept()
	return row
}

// kept returns the growth that the tenants of the run may cause.
func (r *run) kept() float64 { return heapKept * float64(len(r.traffic)) }

// collections is how often the host collects garbage before the heap is read. Contents of pools and
// objects with finalizers are freed only by later collections.
const collections = 3

// profiles are text profiles of the host, each with the pattern of the number to read from it.
var profiles = []struct {
	name, path string
	number     *regexp.Regexp
}{
	{liveHeap, "/debug/pprof/heap?debug=1&gc=1", regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)},
	{leaked, "/debug/pprof/goroutineleak?debug=1",
		regexp.MustCompile(`^goroutineleak profile: total (\d+)`)},
}

// collect triggers garbage collections and reads the profiles into values. It skips a profile that
// the host does not have.
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
