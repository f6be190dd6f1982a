package supervisor

import (
	"time"

	"github.com/thejerf/suture/v4"

	"mcpd/protocol"
	"mcpd/supervisor/otp"
)

// Functions that make the rows of the tree. Each makes one row; values that it does not set have
// the defaults that package otp documents.

// sup makes a one_for_one supervisor with its own intensity.
func sup(id string, restart otp.Restart, budget otp.Intensity, shutdown otp.Shutdown,
	children ...otp.Child) otp.Child {
	return otp.Child{
		ID: id, Label: id, Restart: restart, Shutdown: shutdown,
		Start: otp.Supervisor(otp.Spec{Strategy: otp.OneForOne, Intensity: budget, Children: children}),
	}
}

// backoff is how supervisors near the root pause a child that ends too often. These supervisors
// never give up.
var backoff = otp.Backoff{First: second, Max: 5 * minute, Stable: minute}

// pausing makes a permanent supervisor that pauses children instead of giving up.
func pausing(id string, budget otp.Intensity, pause otp.Backoff, children ...otp.Child) otp.Child {
	return otp.Child{
		ID: id, Label: id, Shutdown: otp.Infinity,
		Start: otp.Supervisor(otp.Spec{
			Strategy: otp.OneForOne, Intensity: budget, Backoff: pause, Children: children,
		}),
	}
}

// startsPaused returns b with AtStart set: a child whose start fails is paused, and the supervisor
// starts without it.
func startsPaused(b otp.Backoff) otp.Backoff {
	b.AtStart = true
	return b
}

// dynamic makes a pausing supervisor whose children come and go while it runs. After a restart it
// has the current children.
func dynamic(id string, budget otp.Intensity, children func() []otp.Child) otp.Child {
	boots := startsPaused(backoff)
	return otp.Child{
		ID: id, Label: id, Shutdown: otp.Infinity,
		Start: otp.SupervisorFunc(func() otp.Spec {
			return otp.Spec{Strategy: otp.OneForOne, Intensity: budget, Backoff: boots, Children: children()}
		}),
	}
}

// actor makes a permanent worker.
func actor(id string, shutdown otp.Shutdown, start func() otp.Behaviour) otp.Child {
	return otp.Child{
		ID: id, Label: id, Restart: restartOf(id), Shutdown: shutdown, Start: otp.Worker(start),
		Mailbox: mailbox,
	}
}

// mailbox is how many messages may wait for a permanent worker: those of all requests that a tenant
// has in flight by default, at once.
const mailbox = perRequest * protocol.MaxPending

// perRequest is how many messages there may be for each in-flight request of an actor, including
// messages that the actor did not ask for.
const perRequest = 8

// withMailbox gives a worker the mailbox that this many in-flight requests need. The configuration
// allows up to 10,000 in-flight requests.
func withMailbox(pending int, child otp.Child) otp.Child {
	child.Mailbox = max(perRequest*pending, otp.DefaultMailbox)
	return child
}

// failureDomain makes a child a failure domain: goroutines that are stuck in it do not count
// against the limit of stuck goroutines elsewhere (otp.MaxIsolated).
func failureDomain(child otp.Child) otp.Child {
	child.FailureDomain = true
	return child
}

// service makes a permanent loop that owns a resource.
func service(id string, shutdown otp.Shutdown, start func() (suture.Service, error)) otp.Child {
	return otp.Child{ID: id, Label: id, Shutdown: shutdown, Start: otp.Service(start)}
}

// pool makes a simple_one_for_one supervisor: any number of children from one template.
func pool(id string, budget otp.Intensity, shutdown otp.Shutdown, template otp.Child) otp.Child {
	return otp.Child{
		ID: id, Label: id, Shutdown: shutdown, Mailbox: mailbox,
		Start: otp.Supervisor(otp.Spec{
			Strategy: otp.SimpleOneForOne, Intensity: budget, Children: []otp.Child{template},
		}),
	}
}

// intensity returns an intensity: that many restarts within that time, unless the options set one
// for all supervisors.
func (h *host) intensity(restarts int, within time.Duration) otp.Intensity {
	if h.options.Intensity != (otp.Intensity{}) {
		return h.options.Intensity
	}
	return otp.Intensity{Restarts: restarts, Within: within}
}
