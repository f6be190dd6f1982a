package supervisor

import (
	"iter"

	"mcpd/actors/catalog"
	"mcpd/internal/water"
	"mcpd/protocol"
	"mcpd/telemetry"
	"mcpd/transport"
)

// marks are how full the queues of actors ever were: of each kind the fullest of all tenants.
type marks struct{ requests, calls, lists, notices water.Mark }

// queue is one kind of queue.
type queue struct {
	name string
	is   string
	full func(h *host) (most, limit int)
}

// queueTable is the table. Mailboxes come beside it, by the labels of the tree. What waits to be started is bounded by the connections there are,
// and shown as mcpd_spawn_queue.
var queueTable = []queue{
	{"requests", "requests of one tenant in flight", func(h *host) (int, int) { return h.marks.requests.Most(), h.mostPending() }},
	{"server_calls", "those that wait for one connection to a server", func(h *host) (int, int) { return h.marks.calls.Most(), h.mostPending() }},
	{"lists", "lists of one tenant that wait for servers", func(h *host) (int, int) { return h.marks.lists.Most(), catalog.MaxWaiting }},
	{"notifications", "those of one tenant that are not dispatched", func(h *host) (int, int) { return h.marks.notices.Most(), protocol.MaxNotifications }},
	{"stream_events", "events of one stream that wait for its client", func(h *host) (int, int) {
		return h.store.Marks().Events.Most(), h.store.Limits().StreamEvents
	}},
	{"stream_bytes", "bytes of the same; one event of any size passes", func(h *host) (int, int) {
		return h.store.Marks().Bytes.Most(), h.store.Limits().StreamBytes
	}},
	{"history_bytes", "bytes kept for all clients that come back", func(h *host) (int, int) {
		return h.store.Marks().History.Most(), h.store.Limits().TotalBytes
	}},
	{"answer_bytes", "bytes of one tenant that clients have not read; 0 is no bound", func(h *host) (most, limit int) {
		return h.mostRoom(func(r *rooms) *transport.Room { return r.answers }), h.share()
	}},
	{"body_bytes", "bytes of one tenant's large requests that are being read; one of any size passes, and 0 is no bound", func(h *host) (most, limit int) {
		return h.mostRoom(func(r *rooms) *transport.Room { return r.bodies }), h.ownBodies()
	}},
	{"events", "events that are not in the log", func(h *host) (int, int) { return h.recorder.Most(), telemetry.QueueLen }},
}

// mostRoom is the most that any tenant has ever had of a room.
func (h *host) mostRoom(of func(*rooms) *transport.Room) (most int) {
	h.rooms.Range(func(_, r any) bool {
		_, used := of(r.(*rooms)).Used()
		most = max(most, used)
		return true
	})
	return most
}

// reserved yields how much of each byte budget of the tenants' rooms is taken now.
func (h *host) reserved() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		h.rooms.Range(func(_, v any) bool {
			r := v.(*rooms)
			answers, _ := r.answers.Used()
			bodies, _ := r.bodies.Used()
			return yield("answers", int64(answers)) && yield("bodies", int64(bodies))
		})
	}
}

// mostPending is what the tenant that may have the most may have in flight.
func (h *host) mostPending() (most int) {
	for _, t := range h.now().config.Tenants {
		most = max(most, t.Limits.MaxPending)
	}
	return most
}

// queues are what the metrics show of all queues.
func (h *host) queues() iter.Seq[telemetry.Queue] {
	return func(yield func(telemetry.Queue) bool) {
		for _, q := range queueTable {
			if most, limit := q.full(h); !yield(telemetry.Queue{Name: q.name, Most: most, Limit: limit}) {
				return
			}
		}
		for label, box := range h.system.Mailboxes() {
			if !yield(telemetry.Queue{Name: "mailbox_" + label, Most: box.Most, Limit: box.Limit}) {
				return
			}
		}
	}
}
