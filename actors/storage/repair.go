package storage

import (
	"cmp"
	"sync"

	"mcpd/actors/internal/mend"
	"mcpd/supervisor/otp"
)

// repair makes what a crashed incarnation left sound again. The places are found anew, and a change that is gone though somebody waits for it is
// what he asked for.
func (k *kept) repair() []otp.Dropped {
	var lost mend.Losses
	k.disk = cmp.Or(k.disk, new(sync.Mutex))
	changes, waiting := k.changes, k.waiting
	k.changes, k.waiting, k.places = nil, nil, map[name]int{}
	for _, c := range changes {
		c.counted.Release()
		if !lost.If(c.Check() != nil, "change", "cannot be written") {
			k.add(c.Keep)
		}
	}
	for _, p := range waiting {
		switch {
		case lost.If(p == nil, "change", "of nobody"):
		case p.Req.Check() != nil:
			lost.Drop("change", "cannot be written", p)
		default:
			if _, there := k.places[name{p.Req.Bucket, p.Req.Key}]; !there {
				k.add(Keep(p.Req))
			}
			k.waiting = append(k.waiting, p)
		}
	}
	return lost
}
