package otp

import "github.com/asynkron/protoactor-go/actor"

// registryParts is how many maps the runtime's registry of processes has, each of which has 32 shards. Its own number, 1,024, makes 32,768 maps: some
// 2 MB for nothing, and each map that has once held a process keeps 288 bytes for it, so that the heap grows with every process that is spawned until
// all have.
const registryParts = 8

// narrow leaves a registry, which finds the map of a process by its hash, as many maps.
func narrow(r *actor.SliceMap) {
	var found []map[string]any
	for _, part := range r.LocalPIDs {
		if !part.IsEmpty() {
			found = append(found, part.Items())
		}
	}
	for _, part := range r.LocalPIDs[:registryParts] {
		part.Clear()
	}
	r.LocalPIDs = append(r.LocalPIDs[:0:0], r.LocalPIDs[:registryParts]...)
	for _, processes := range found {
		for id, process := range processes {
			r.GetBucket(id).Set(id, process)
		}
	}
}
