package supervisor

import (
	"fmt"
	"runtime"

	"mcpd/actors/memory"
	"mcpd/actors/session"
	"mcpd/gateway/config"
	"mcpd/gateway/quota"
	"mcpd/supervisor/otp"
	"mcpd/telemetry/admin"
	"mcpd/transport/streamable"
)

// historyShare is the part of the memory that histories for clients that come back may fill: one in four.
const historyShare = 4

// newStore makes what keeps events for clients that read slowly or come back: for all sessions no more than this host can spare.
func newStore(c *config.Config, o Options) *streamable.Store {
	e := &c.Edge
	s := streamable.StoreOptions{
		Clock: o.Clock, StreamEvents: e.StreamEvents, StreamBytes: int(e.StreamBytes), SessionBytes: int(e.History),
		TotalBytes: int(e.TotalHistory), TTL: e.HistoryTime, GETs: e.Streams,
	}
	if o.Memory > 0 {
		s.TotalBytes = int(min(o.Memory/historyShare, uint64(e.TotalHistory)))
	}
	return streamable.NewStore(s)
}

func (h *host) memoryOptions() memory.Options {
	return memory.Options{
		Limit: h.options.Memory, Use: memory.Measured(), Collect: runtime.GC, Level: &h.memory, Relieve: h.relieve, Emit: h.recorder.Emit,
	}
}

// relieve lets go of what is kept for convenience.
func (h *host) relieve(level quota.Level) {
	h.index.Each(func(s *session.Handle) bool {
		s.Streams().Trim(level >= quota.High)
		return true
	})
}

// memoryCheck is what readiness says of the memory. A host that has little goes on with what it has in hand.
func (h *host) memoryCheck(tree otp.Node) admin.Check {
	c := admin.Check{Name: "memory", OK: true}
	tree.Walk(func(n otp.Node) bool {
		if s, ok := n.Extra.(memory.Status); ok && s.Level > quota.Normal {
			c.OK, c.Detail = false, fmt.Sprintf("%v: %d of %d MiB in use", s.Level, s.Use>>20, s.Limit>>20)
		}
		return c.OK
	})
	return c
}
