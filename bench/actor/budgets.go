package actor

import (
	"fmt"
	"time"

	"mcpd/supervisor/otp"
)

// budgets selects the restart budgets of a host that is measured.
type budgets string

// A crash every millisecond needs budgets that are never exceeded. Everything else is measured with
// the budgets of a normal host.
const (
	// released are the budgets of a normal host. The crashes stay within them.
	released budgets = "released"
	lifted   budgets = "lifted" // never exceeded
)

// of returns the name of a case with these budgets.
func (b budgets) of(name string) string { return name + ", " + string(b) + " budgets" }

// allowed is the budget of a tenant's actor and of a connection to a server in a normal host: see
// docs/tree.gen.md. The margin covers the difference of the clocks.
var allowed = otp.Intensity{Restarts: 5, Within: 30 * time.Second}

const allowedMargin = time.Second

// allowance counts the crashes within one budget.
type allowance struct{ last []time.Time }

// take reports whether one more crash stays within the budget, and counts it if so.
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
func (h *crashingHost) may(label string) bool {
	if h.budgets == lifted {
		return true
	}
	if h.spent[label] == nil {
		h.spent[label] = &allowance{}
	}
	return h.spent[label].take(time.Now())
}

// kept returns an error if a budget was exceeded. Then the measurement is invalid.
func (h *crashingHost) kept() error {
	for _, path := range []string{"mcpd/tenants", "mcpd/tenants/victim"} {
		if ref, ok := h.host.Whereis(path); !ok || ref.Incarnation() != 1 {
			return fmt.Errorf("%s is in incarnation %d: a released budget was exceeded", path,
				ref.Incarnation())
		}
	}
	return nil
}

// hostCase is one kill of a host with these budgets.
type hostCase struct {
	budgets budgets
	kill    crashCase
}

func (c hostCase) name() string    { return c.budgets.of(c.kill.name) }
func (c hostCase) asCalls() string { return c.budgets.of(c.kill.asCalls()) }

// worked reports whether the case has a counterpart in which the victim makes calls instead of
// crashing.
func (c hostCase) worked() bool {
	return c.budgets == lifted && c.kill.victim == actorVictim && c.kill.microseconds > 0
}

// hostCases are the cases of isolation-host, in their order. The released budgets come first, and
// the first case of each is the one without kills. A host always writes reports, and none of its
// supervisors has a thousand children of one tenant.
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

// needsLifted reports whether the case has more crashes than any normal budget allows.
func (k crashCase) needsLifted() bool { return k.microseconds == 1_000 }
