package supervisor

import (
	"time"

	"github.com/thejerf/suture/v4"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// The words that the tree is written in. Each makes one row; what a row does not say has the default that package otp documents.

// sup is a supervisor with one_for_one and its own restart budget.
func sup(id string, restart otp.Restart, budget otp.Intensity, shutdown otp.Shutdown, children ...otp.Child) otp.Child {
	return otp.Child{
		ID: id, Label: id, Restart: restart, Shutdown: shutdown,
		Start: otp.Supervisor(otp.Spec{Strategy: otp.OneForOne, Intensity: budget, Children: children}),
	}
}

// backoff is how supervisors near the root pause a child that ends too often. They never give up.
var backoff = otp.Backoff{First: second, Max: 5 * minute, Stable: minute}

// pausing is a permanent supervisor that pauses children instead of giving up.
func pausing(id string, budget otp.Intensity, pause otp.Backoff, children ...otp.Child) otp.Child {
	return otp.Child{
		ID: id, Label: id, Shutdown: otp.Infinity,
		Start: otp.Supervisor(otp.Spec{Strategy: otp.OneForOne, Intensity: budget, Backoff: pause, Children: children}),
	}
}

// booting is a backoff that a supervisor has from its start on: children that do not start are paused, and do not end the start.
func booting(b otp.Backoff) otp.Backoff {
	b.Boots = true
	return b
}

// changing is a pausing supervisor whose children come and go while it runs: when it restarts, it has those that there are then.
func changing(id string, budget otp.Intensity, children func() []otp.Child) otp.Child {
	boots := booting(backoff)
	return otp.Child{
		ID: id, Label: id, Shutdown: otp.Infinity,
		Start: otp.SupervisorFunc(func() otp.Spec {
			return otp.Spec{Strategy: otp.OneForOne, Intensity: budget, Backoff: boots, Children: children()}
		}),
	}
}

// actor is a permanent worker.
func actor(id string, shutdown otp.Shutdown, start func() otp.Behaviour) otp.Child {
	return otp.Child{ID: id, Label: id, Restart: restartOf(id), Shutdown: shutdown, Start: otp.Worker(start), Mailbox: mailbox}
}

// mailbox is how many messages may wait for a permanent worker: what the requests cause that a tenant has in flight by default, all at once.
const mailbox = perRequest * protocol.MaxPending

// perRequest is how many messages there may be for each request that an actor may have in hand, with room for what it never asked for.
const perRequest = 8

// holding gives a worker the mailbox that so many requests in flight need. The configuration allows 10,000.
func holding(pending int, child otp.Child) otp.Child {
	child.Mailbox = max(perRequest*pending, otp.DefaultMailbox)
	return child
}

// walled is a child whose instances that hang use up nobody else's replacements.
func walled(child otp.Child) otp.Child {
	child.Bulkhead = true
	return child
}

// service is a permanent loop that owns a resource.
func service(id string, shutdown otp.Shutdown, start func() (suture.Service, error)) otp.Child {
	return otp.Child{ID: id, Label: id, Shutdown: shutdown, Start: otp.Service(start)}
}

// pool is a simple_one_for_one supervisor: any number of children from one template.
func pool(id string, budget otp.Intensity, shutdown otp.Shutdown, template otp.Child) otp.Child {
	return otp.Child{
		ID: id, Label: id, Shutdown: shutdown, Mailbox: mailbox,
		Start: otp.Supervisor(otp.Spec{Strategy: otp.SimpleOneForOne, Intensity: budget, Children: []otp.Child{template}}),
	}
}

// in is a restart budget: so many restarts within that time, unless the options say otherwise for all.
func (h *host) in(restarts int, within time.Duration) otp.Intensity {
	if h.options.Intensity != (otp.Intensity{}) {
		return h.options.Intensity
	}
	return otp.Intensity{Restarts: restarts, Within: within}
}
