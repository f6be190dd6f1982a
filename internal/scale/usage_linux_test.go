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

// usage is what a process has used so far.
type usage struct {
	cpu time.Duration
	rss int // MiB
}

// usageOf reads what a process has used.
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

// since is what a process has used since before, and the memory that it has now.
func (u usage) since(before usage) usage {
	u.cpu -= before.cpu
	return u
}
