package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process identifies a process of this machine by its pid and its start time, because the kernel
// reuses pids.
type process struct{ pid, start int }

// stat returns what the kernel reports about a process: its state, its parent, and its start time
// in ticks since the machine was booted. It is false for a process that does not exist, and
// everywhere but on Linux.
func stat(pid int) (state string, parent, start int, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, 0, false
	}
	// The format is "pid (name) state parent …", and the name may contain any characters.
	words := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(words) < 20 {
		return "", 0, 0, false
	}
	parent, _ = strconv.Atoi(words[1])
	start, _ = strconv.Atoi(words[19])
	return words[0], parent, start, true
}

// processOf returns the process that has the pid now.
func processOf(pid int) process {
	_, _, start, _ := stat(pid)
	return process{pid, start}
}

// runs reports whether the process has not ended. A zombie has ended.
func (p process) runs() bool {
	state, _, start, ok := stat(p.pid)
	return ok && start == p.start && state != "Z" && state != "X"
}

// descendants returns the processes below host.
func descendants(host int) (list []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if pid != host && below(pid, host) {
			list = append(list, processOf(pid))
		}
	}
	return list
}
