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

// historyShare is the part of the memory that stream histories for returning clients may fill: one
// in four.
const historyShare = 4

// newStore makes the store of events for clients that read slowly or come back. It is bounded by
// the memory that this host can spare for all sessions.
func (h *host) newStore(c *config.Config) *streamable.Store {
	e, o := &c.Edge, &h.options
	s := streamable.StoreOptions{
		Clock: h.awake, StreamEvents: e.StreamEvents, StreamBytes: int(e.StreamBytes),
		SessionBytes: int(e.History),
		TotalBytes:   int(e.TotalHistory), TTL: e.HistoryTime, GETs: e.Streams,
	}
	if o.Memory > 0 {
		s.TotalBytes = int(min(o.Memory/historyShare, uint64(e.TotalHistory)))
	}
	s.Account = func(tenant string) streamable.Account { return historiesOf{h.ledger.Account(tenant)} }
	if h.state != nil {
		// A storage actor that starts later looks for itself.
		s.Save = func() { _ = h.core("storage").Send(storage.Collect{}) }
	}
	return streamable.NewStore(s)
}

// keptShare is the part of the memory that all tenants together may keep: one in two. The rest is
// for the host itself, for data being written, and for garbage that is not collected yet. So
// tenants at their limits do not make the host refuse all tenants.
const keptShare = 2

// bounds returns what tenants may keep, of all kinds and of histories alone.
func (h *host) bounds(c *config.Config) quota.Bounds {
	return quota.Bounds{
		Tenants: len(c.Tenants), Total: int64(h.options.Memory / keptShare),
		Histories: int64(h.store.Limits().TotalBytes),
	}
}

// keepLimit returns how many bytes all tenants together may keep, and guaranteed how many each can
// always have. 0 means no bound.
func (h *host) keepLimit() int { return int(h.bounds(h.now().config).Total) }
func (h *host) guaranteed() int {
	b := h.bounds(h.now().config)
	return int(quota.Shares{Total: b.Total, Tenants: b.Tenants}.Guaranteed())
}

// spareBuffers returns how many bytes of empty buffers are kept for the next large messages.
func (h *host) spareBuffers() int {
	if h.options.Memory == 0 {
		return int(transport.MaxSpare(math.MaxInt64))
	}
	return int(transport.MaxSpare(int64(h.options.Memory)))
}

// holdings yields what tenants keep, for the metrics.
func (h *host) holdings() iter.Seq[telemetry.KeptBytes] {
	return func(yield func(telemetry.KeptBytes) bool) {
		for _, held := range h.ledger.Snapshot() {
			for kind, n := range held.Kinds {
				if !yield(telemetry.KeptBytes{Tenant: held.Tenant, Kind: quota.Kind(kind).String(), Bytes: n}) {
					return
				}
			}
		}
	}
}

func (h *host) memoryOptions() memory.Options {
	return memory.Options{
		Limit: h.options.Memory, Use: memory.Measured(), Collect: runtime.GC,
		SetGCPercent: h.options.Pace,
		Level:        &h.memory, Relieve: h.freeMemory, Holdings: h.ledger.Snapshot,
		Emit:   h.recorder.Emit,
		Faults: h.faults,
	}
}

// freeMemory frees memory that is kept only for convenience.
func (h *host) freeMemory(level quota.Level) {
	h.transports.closeIdle()
	if level >= quota.High {
		h.ledger.EvictCached()
	}
	h.index.Each(func(s *session.Handle) bool {
		s.Streams().Trim(level >= quota.High)
		return true
	})
}

// memoryCheck is the readiness check of the memory. A host that is short of memory still finishes
// the work that it has begun.
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
			if s.Largest.Kept > 0 && len(s.Refused) == 0 {
				why = append(why, "most by "+s.Largest.String())
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
