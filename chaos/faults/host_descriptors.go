package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
)

// hostDescriptors can leave the limit behind if the run is killed. The limit is lifted by the end
// of the next run of this fault, which sets the soft limit to the hard limit, and by the next start
// of the host. Nothing else on the machine has changed.
var hostDescriptors = Kind{
	Name: "host.descriptors", CatalogueIDs: []string{"F51"}, Aim: AtHost, Contends: true, Quiet: true,
	Needs: NeedSameMachine,
	Description: "the host may open only so many descriptors more, as many as its hard limit allows " +
		"again " +
		"at the end",
	Params: []Param{
		{Name: "free", Type: Number, Default: "5", High: 10_000, Description: "how many more"},
	},
	Inject: func(_ context.Context, s *Site) (Injected, error) {
		p, err := host(s)
		if err != nil {
			return Injected{}, err
		}
		used, err := descriptors(s.PID)
		if err != nil {
			return Injected{}, errors.Join(err, p.Release())
		}
		limit := limitFor(used, s.Params.Number("free"))
		if err := setDescriptors(s.PID, uint64(limit)); err != nil {
			return Injected{}, errors.Join(err, p.Release())
		}
		in := done(fmt.Sprintf("the host, process %d, with %d descriptors and a limit of %d", s.PID,
			len(used), limit))
		var once sync.Once
		in.Heal = func(context.Context) (err error) {
			once.Do(func() {
				defer p.Release() //nolint:errcheck // it closes a descriptor
				if !processOf(s.PID).runs() {
					return // the limit is gone with the process
				}
				err = setDescriptors(s.PID, 0)
			})
			return err
		}
		return in, nil
	},
}

// descriptors returns the sorted numbers of the open descriptors of a process.
func descriptors(pid int) (list []int, err error) {
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	for _, f := range files {
		if n, err := strconv.Atoi(f.Name()); err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// limitFor returns the limit below which that many numbers are free. The kernel gives each new
// descriptor the lowest free number.
func limitFor(used []int, free int) int {
	limit := 0
	for _, n := range used {
		gap := n - limit
		if gap > 0 && gap >= free {
			break
		}
		free -= gap
		limit = n + 1
	}
	return limit + free
}
