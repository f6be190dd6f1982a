package stdio

import (
	"bytes"
	"os"
	"strconv"

	"mcpd/transport/stdio/guard"
)

// stopped reports whether a signal has stopped the program and all processes that it started, and
// how often they got the processor. A process that is continued gets it more often, if only to be
// stopped again. A traced process does not count as stopped: a debugger works on it. All processes
// are checked because a stopped launcher may have left the work to its children. A launcher that
// waits for a stopped server is not found: it looks like any waiting process. Every process on the
// system is read only when the program itself is stopped.
func (c *Child) stopped() (turns uint64, all bool) {
	c.h.mu.Lock()
	state, _, _ := statusOf(c.h.pid)
	own := !c.h.reaped && state == "T"
	c.h.mu.Unlock()
	if !own {
		return 0, false
	}
	look := carrying(c.trace.mark)
	family := map[int]bool{c.h.pid: true} // a parent mostly has the lower number
	for _, pid := range guard.All() {
		state, parent, group := statusOf(pid)
		switch {
		case state == "", state == "Z", state == "X":
			continue
		case pid != c.h.pid && group != c.h.pid && !family[parent] &&
			len(look.Signal([]int{pid}, 0)) == 0:
			continue
		case state != "T":
			return 0, false
		}
		family[pid] = true
		turns += contextSwitchesOf(pid)
	}
	return turns, true
}

// contextSwitchesOf returns how often the first thread of a process got the processor and left it.
func contextSwitchesOf(pid int) (turns uint64) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		// This matches nonvoluntary_ctxt_switches too.
		if bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) {
			n, _ := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
			turns += n
		}
	}
	return turns
}
