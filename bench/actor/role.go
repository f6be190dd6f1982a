package actor

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"mcpd/actors/memory"
	"mcpd/bench/kit"
)

// ours is the role of mcpd's side. Its argument is the file to which crash reports are written.
const ours = "actors"

// Roles are the processes of this package's scenarios.
var Roles = []kit.Role{
	{Name: ours, Stdio: kit.WithArgument(func(log string) kit.Answer { return side{log}.answer })},
	{Name: wholeHost, Stdio: kit.WithArgument(newWhole)},
	{Name: hurtHost, Stdio: kit.WithArgument(newHurt)},
}

// side is mcpd's side.
type side struct{ log string }

// answer measures one round. It first collects the garbage of earlier rounds, and then sets the
// garbage collector as mcpd does.
func (s side) answer(line string) (any, error) {
	runtime.GC()
	if set := memory.GCPercentSetter(); set != nil {
		set(memory.GrowthPercent(memory.Measured()().Live, 0))
	}
	w := &words{left: strings.Fields(line)}
	var measure func() (answer, error)
	switch kind := w.next(); kind {
	case "restart":
		siblings, paced, quiet, message, times := w.number(), w.is("paced", "tight"), w.is("quiet",
			"reports"), w.is("message", "call"), w.number()
		measure = func() (answer, error) { return s.restarts(siblings, paced, quiet, message, times) }
	case "pool":
		children, times := w.number(), w.number()
		measure = func() (answer, error) { return pool(children, times) }
	case "subtree":
		children, times := w.number(), w.number()
		measure = func() (answer, error) { return subtree(children, times) }
	case "isolation":
		siblings, every, quiet, last, one := w.number(), w.number(), w.is("quiet",
			"reports"), w.number(), w.is(actorVictim, supervisorVictim)
		measure = func() (answer, error) {
			return s.isolation(siblings, time.Duration(every)*time.Microsecond, quiet,
				time.Duration(last)*time.Millisecond, one)
		}
	case "call":
		times := w.number()
		measure = func() (answer, error) { return calls(times) }
	case "idle":
		actors := w.number()
		measure = func() (answer, error) { return idle(actors) }
	case "watch":
		actors, last := w.number(), w.number()
		measure = func() (answer, error) { return watched(actors, time.Duration(last)*time.Millisecond) }
	case "flood":
		messages, times := w.number(), w.number()
		measure = func() (answer, error) { return flood(messages, times) }
	case "bare":
		messages, times := w.number(), w.number()
		measure = func() (answer, error) { return bare(messages, times) }
	default:
		return nil, fmt.Errorf("there is no question %q", kind)
	}
	if w.err != nil {
		return nil, w.err
	}
	return measure()
}
