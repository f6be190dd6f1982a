package supervisor

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"strings"

	"mcpd/actors/memory"
	"mcpd/actors/session"
	"mcpd/actors/storage"
	"mcpd/gateway/config"
	"mcpd/gateway/quota"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport"
	"mcpd/transport/streamable"
)

// historyShare is the part of the memory that histories for clients that come back may fill: one in four.
const historyShare = 4

// newStore makes what keeps events for clients that read slowly or come back: for all sessions no more than this host can spare.
func (h *host) newStore(c *config.Config) *streamable.Store {
	e, o := &c.Edge, &h.options
	s := streamable.StoreOptions{
		Clock: h.awake, StreamEvents: e.StreamEvents, StreamBytes: int(e.StreamBytes), SessionBytes: int(e.History),
		TotalBytes: int(e.TotalHistory), TTL: e.HistoryTime, GETs: e.Streams,
	}
	if o.Memory > 0 {
		s.TotalBytes = int(min(o.Memory/historyShare, uint64(e.TotalHistory)))
	}
	s.Kept = func(tenant string) streamable.Account { return historiesOf{h.kept.Of(tenant)} }
	if h.state != nil {
		s.Save = func() { _ = h.core("storage").Send(storage.Collect{}) } // one that begins looks for itself
	}
	return streamable.NewStore(s)
}

// keptShare is the part of the memory that all tenants together may keep: one in two. The rest is for
// the host itself, for what is being written, and for garbage that is not collected yet, so that
// tenants at their bounds do not bring the host to refuse everybody.
const keptShare = 2

// bounds are what tenants may keep, of all kinds and of histories alone.
func (h *host) bounds(c *config.Config) quota.Bounds {
	return quota.Bounds{
		Tenants: len(c.Tenants), Total: int64(h.options.Memory / keptShare), Histories: int64(h.store.Limits().TotalBytes),
	}
}

// keepable is what all tenants together may keep, and guaranteed what each can always have; 0 is no bound.
func (h *host) keepable() int { return int(h.bounds(h.now().config).Total) }
func (h *host) guaranteed() int {
	b := h.bounds(h.now().config)
	return int(quota.Shares{Total: b.Total, Tenants: b.Tenants}.Guaranteed())
}

// spare is how many bytes of emptied buffers are kept for the next large messages.
func (h *host) spare() int {
	if h.options.Memory == 0 {
		return int(transport.MaxSpare(math.MaxInt64))
	}
	return int(transport.MaxSpare(int64(h.options.Memory)))
}

// holdings is what tenants keep, for the metrics.
func (h *host) holdings() iter.Seq[telemetry.Kept] {
	return func(yield func(telemetry.Kept) bool) {
		for _, held := range h.kept.Snapshot() {
			for kind, n := range held.Kinds {
				if !yield(telemetry.Kept{Tenant: held.Tenant, Kind: quota.Kind(kind).String(), Bytes: n}) {
					return
				}
			}
		}
	}
}

func (h *host) memoryOptions() memory.Options {
	return memory.Options{
		Limit: h.options.Memory, Use: memory.Measured(), Collect: runtime.GC, Pace: h.options.Pace, Level: &h.memory, Relieve: h.relieve, Holdings: h.kept.Snapshot, Emit: h.recorder.Emit,
		Faults: h.faults,
	}
}

// relieve lets go of what is kept for convenience.
func (h *host) relieve(level quota.Level) {
	h.pools.closeIdle()
	if level >= quota.High {
		h.kept.DropCached()
	}
	h.index.Each(func(s *session.Handle) bool {
		s.Streams().Trim(level >= quota.High)
		return true
	})
}

// memoryCheck is what readiness says of the memory. A host that has little goes on with what it has in hand.
func (h *host) memoryCheck(tree otp.Node) admin.Check {
	c := admin.Check{Name: "memory", OK: true}
	tree.Walk(func(n otp.Node) bool {
		s, ok := n.Extra.(memory.Status)
		if !ok {
			return true
		}
		var why []string
		if s.Level > quota.Normal {
			why = append(why, fmt.Sprintf("%v: %d of %d MiB in use", s.Level, s.Use>>20, s.Limit>>20))
			if s.Most.Kept > 0 && len(s.Refused) == 0 {
				why = append(why, "most by "+s.Most.String())
			}
		}
		for _, h := range s.Refused {
			why = append(why, "refused because it keeps too much: "+h.String())
		}
		c.OK, c.Detail = len(why) == 0, strings.Join(why, "; ")
		return false
	})
	return c
}
