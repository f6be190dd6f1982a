package actor

import (
	"fmt"
	"time"

	"mcpd/supervisor/otp"
)

// budgets are the restart budgets of a host that is measured.
type budgets string

// A crash every millisecond needs budgets that nothing exceeds; everything else is measured under those that are
// released.
const (
	released budgets = "released" // those that a host is run with; what crashes keeps within them
	lifted   budgets = "lifted"   // none is ever exceeded
)

// of is a case under these budgets.
func (b budgets) of(name string) string { return name + ", " + string(b) + " budgets" }

// allowed is how many ends of a tenant's actor, or of a connection to a server, the released budgets take: see
// docs/tree.gen.md. The margin is for the difference of the clocks.
var allowed = otp.Intensity{Restarts: 5, Within: 30 * time.Second}

const allowedMargin = time.Second

// allowance is what was used of one budget.
type allowance struct{ last []time.Time }

// take reports whether one more end keeps within the budget, and counts it then.
func (a *allowance) take(now time.Time) bool {
	for len(a.last) > 0 && now.Sub(a.last[0]) > allowed.Within+allowedMargin {
		a.last = a.last[1:]
	}
	if len(a.last) >= allowed.Restarts {
		return false
	}
	a.last = append(a.last, now)
	return true
}

// may reports whether something may crash now.
func (h *hurt) may(what string) bool {
	if h.budgets == lifted {
		return true
	}
	if h.spent[what] == nil {
		h.spent[what] = &allowance{}
	}
	return h.spent[what].take(time.Now())
}

// kept says when a budget was exceeded although none may be: then what was measured is something else.
func (h *hurt) kept() error {
	for _, path := range []string{"mcpd/tenants", "mcpd/tenants/victim"} {
		if ref, ok := h.host.Whereis(path); !ok || ref.Incarnation() != 1 {
			return fmt.Errorf("%s is in incarnation %d: a released budget was exceeded", path, ref.Incarnation())
		}
	}
	return nil
}

// hostCase is one kill of a host with these budgets.
type hostCase struct {
	budgets budgets
	kill    kill
}

func (c hostCase) name() string    { return c.budgets.of(c.kill.name) }
func (c hostCase) asCalls() string { return c.budgets.of(c.kill.asCalls()) }

// worked reports whether there is a case beside it in which the victim makes calls in place of crashing.
func (c hostCase) worked() bool {
	return c.budgets == lifted && c.kill.victim == actorVictim && c.kill.microseconds > 0
}

// hostCases are those of isolation-host, in their order: under released budgets first, each beginning with the case in
// which nobody is killed. A host always writes reports, and its supervisors have no thousand children of one tenant.
func hostCases() (list []hostCase) {
	for _, b := range []budgets{released, lifted} {
		for _, k := range kills {
			if k.reports == "reports" || k.victim == supervisorVictim || b == released && k.needsLifted() {
				continue
			}
			list = append(list, hostCase{b, k})
		}
	}
	return list
}

// needsLifted reports whether the figure is about more crashes than any budget allows.
func (k kill) needsLifted() bool { return k.microseconds == 1_000 }
