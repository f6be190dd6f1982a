package scale

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// tick is a clock tick of /proc: 1/100 s on every Linux.
const tick = 10 * time.Millisecond

// usage is the processor time that a process has used so far, and its memory.
type usage struct {
	cpu time.Duration
	rss int // MiB
}

// usageOf reads the usage of a process.
func usageOf(t *testing.T, pid int) (u usage) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, at := range []int{11, 12} { // user and system time
		n, err := strconv.Atoi(string(fields[at]))
		if err != nil {
			t.Fatal(err)
		}
		u.cpu += time.Duration(n) * tick
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		var kib int
		if _, err := fmt.Sscanf(string(line), "VmRSS: %d kB", &kib); err == nil {
			u.rss = kib >> 10
		}
	}
	return u
}

// since returns the processor time since before, and the current memory.
func (u usage) since(before usage) usage {
	u.cpu -= before.cpu
	return u
}
