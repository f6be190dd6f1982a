package otp

import "github.com/asynkron/protoactor-go/actor"

// registryParts is how many parts protoactor's registry of processes has; each part has 32 shards,
// which are maps. Protoactor's own number of 1,024 makes 32,768 maps. They take 2 MB, and each map
// that has once held a process keeps 288 bytes for it. So the heap would grow with every spawned
// process until each map has held one.
const registryParts = 8

// shrinkRegistry reduces a registry to registryParts parts. The registry finds the map of a process
// by a hash.
func shrinkRegistry(r *actor.SliceMap) {
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
