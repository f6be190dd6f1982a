package supervisor

import (
	"iter"

	"mcpd/actors/catalog"
	"mcpd/internal/highwater"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
)

// marks are the high-water marks of the actors' queues: for each kind, the highest of all tenants.
type marks struct{ requests, calls, lists, notices highwater.Mark }

// queue is one kind of queue.
type queue struct {
	name  string
	label string
	full  func(h *host) (most, limit int)
}

// queueTable lists the queues. Mailboxes are listed in addition, by the labels of the tree. The
// queue of programs to start is bounded by the number of connections and shown as mcpd_spawn_queue.
var queueTable = []queue{
	{"requests", "requests of one tenant in flight", func(h *host) (int, int) {
		return h.marks.requests.Most(), h.mostPending()
	}},
	{"server_calls", "requests that wait for one connection to a server", func(h *host) (int, int) {
		return h.marks.calls.Most(), h.mostPending()
	}},
	{"lists", "lists of one tenant that wait for servers", func(h *host) (int, int) {
		return h.marks.lists.Most(), catalog.MaxWaiting
	}},
	{"notifications", "notifications of one tenant that are not dispatched yet",
		func(h *host) (int, int) {
			return h.marks.notices.Most(), protocol.MaxNotifications
		}},
	{"stream_events", "events of one stream that wait for its client", func(h *host) (int, int) {
		return h.store.Marks().Events.Most(), h.store.Limits().StreamEvents
	}},
	{"stream_bytes", "bytes of these events; one event of any size passes", func(h *host) (int, int) {
		return h.store.Marks().Bytes.Most(), h.store.Limits().StreamBytes
	}},
	{"history_bytes", "bytes of events that are kept for all clients that come back",
		func(h *host) (int, int) {
			return h.store.Marks().History.Most(), h.store.Limits().TotalBytes
		}},
	{"answer_bytes", "bytes of one tenant that clients have not read; 0 means no limit",
		func(h *host) (most, limit int) {
			return h.mostReserved(func(r *budgets) *transport.ByteBudget {
				return r.answers
			}), h.answerShare()
		}},
	{"body_bytes", "bytes of one tenant's large requests that are being read; one request of any " +
		"size passes, and 0 means no limit", func(h *host) (most, limit int) {
		return h.mostReserved(func(r *budgets) *transport.ByteBudget { return r.bodies }), h.bodyShare()
	}},
	{"events", "events that are not in the log yet", func(h *host) (int, int) {
		return h.recorder.HighWater(), telemetry.QueueLen
	}},
}

// mostReserved returns the highest use that any tenant has had of a byte budget.
func (h *host) mostReserved(of func(*budgets) *transport.ByteBudget) (most int) {
	h.budgets.Range(func(_, r any) bool {
		_, used := of(r.(*budgets)).Used()
		most = max(most, used)
		return true
	})
	return most
}

// reserved yields how much of each byte budget of the tenants is reserved now.
func (h *host) reserved() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		h.budgets.Range(func(_, v any) bool {
			r := v.(*budgets)
			answers, _ := r.answers.Used()
			bodies, _ := r.bodies.Used()
			return yield("answers", int64(answers)) && yield("bodies", int64(bodies))
		})
	}
}

// mostPending returns the largest limit of in-flight requests of any tenant.
func (h *host) mostPending() (most int) {
	for _, t := range h.now().config.Tenants {
		most = max(most, t.Limits.MaxPending)
	}
	return most
}

// queues yields all queues for the metrics.
func (h *host) queues() iter.Seq[telemetry.Queue] {
	return func(yield func(telemetry.Queue) bool) {
		for _, q := range queueTable {
			if most, limit := q.full(h); !yield(telemetry.Queue{Name: q.name, HighWater: most,
				Limit: limit}) {
				return
			}
		}
		for label, box := range h.system.Mailboxes() {
			if !yield(telemetry.Queue{Name: "mailbox_" + label, HighWater: box.Most, Limit: box.Limit}) {
				return
			}
		}
	}
}
