package stdio

import (
	"bytes"
	"os"
	"strconv"

	"mcpd/transport/stdio/guard"
)

// stopped reports whether a signal has stopped the program and all that it has started, and how often they had the processor: one that is
// continued has it more often, if only to be stopped again. One that is traced is somebody's work. A launcher that is stopped may have left
// the serving to what it started; one that waits for a server which is stopped looks like any that waits, and is not found here. Every
// process there is is looked at only when the program itself is stopped.
func (c *Child) stopped() (turns uint64, all bool) {
	c.h.mu.Lock()
	state, _, _ := statusOf(c.h.pid)
	own := !c.h.reaped && state == "T"
	c.h.mu.Unlock()
	if !own {
		return 0, false
	}
	look := carrying(c.trace.mark)
	family := map[int]bool{c.h.pid: true} // a parent has mostly the lower number
	for _, pid := range guard.All() {
		state, parent, group := statusOf(pid)
		switch {
		case state == "", state == "Z", state == "X":
			continue
		case pid != c.h.pid && group != c.h.pid && !family[parent] && len(look.Signal([]int{pid}, 0)) == 0:
			continue
		case state != "T":
			return 0, false
		}
		family[pid] = true
		turns += turnsOf(pid)
	}
	return turns, true
}

// turnsOf is how often the first thread of a process had the processor and left it.
func turnsOf(pid int) (turns uint64) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) { // and those that are not
			n, _ := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 64)
			turns += n
		}
	}
	return turns
}
