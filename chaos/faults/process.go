package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is one of this machine, known by when it was started too: its number may be given to another.
type process struct{ pid, start int }

// stat is what the kernel tells of a process: its state, its parent and when it was started, in ticks since the machine was. It is false of one
// that there is not, and everywhere but on Linux.
func stat(pid int) (state string, parent, start int, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, 0, false
	}
	// pid (name) state parent …; a name may have anything in it.
	words := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(words) < 20 {
		return "", 0, 0, false
	}
	parent, _ = strconv.Atoi(words[1])
	start, _ = strconv.Atoi(words[19])
	return words[0], parent, start, true
}

// processOf is the process that has the number now.
func processOf(pid int) process {
	_, _, start, _ := stat(pid)
	return process{pid, start}
}

// runs reports whether it has not ended. One that nobody has waited for has.
func (p process) runs() bool {
	state, _, start, ok := stat(p.pid)
	return ok && start == p.start && state != "Z" && state != "X"
}

// descendants are the processes below one.
func descendants(host int) (list []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if pid != host && below(pid, host) {
			list = append(list, processOf(pid))
		}
	}
	return list
}
