package run

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"mcpd/transport/stdio"
)

// process holds the fields of /proc/PID/stat that a run needs.
type process struct {
	parent int
	state  string
	start  float64 // in ticks since the machine was booted
}

// all returns the processes of the machine, by pid. It is empty everywhere but on Linux.
func all() map[int]process {
	list := map[int]process{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The format is "pid (name) state parent …", and the name may contain any characters.
		if words := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])); len(words) > 19 {
			p := process{state: words[0]}
			p.parent, _ = strconv.Atoi(words[1])
			p.start, _ = strconv.ParseFloat(words[19], 64)
			list[pid] = p
		}
	}
	return list
}

// below counts the processes, zombies and strays of a host.
func below(host int) map[string]float64 {
	list := all()
	values := map[string]float64{processes: 0, zombies: 0, strays: 0}
	marks := map[string]bool{}
	under := map[int]bool{}
	for pid := range list {
		for at, depth := pid, 0; at > 1 && depth < len(list); depth++ {
			if at = list[at].parent; at == host {
				under[pid] = true
				break
			}
		}
	}
	for pid := range under {
		values[processes]++
		if list[pid].state == "Z" {
			values[zombies]++
		}
		if m := marked(pid); m != "" {
			marks[m] = true
		}
	}
	for pid := range list {
		if !under[pid] && pid != host && marks[marked(pid)] {
			values[strays]++
		}
	}
	return values
}

// marked returns the mark that a host puts into the environment of every process that it starts,
// without the number of that process. It is empty if there is no mark.
func marked(pid int) string {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for text := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := bytes.CutPrefix(text, []byte(stdio.InstanceVariable+"=")); ok {
			host, _, _ := strings.Cut(string(value), "/")
			return host
		}
	}
	return ""
}

// ticks is the number of ticks a second in /proc. It is the same on every Linux that Go supports.
const ticks = 100

// local reports whether the process with that pid on this machine is the host: its start time must
// be less than 2 s from the one that the host reports.
func local(pid int, started float64) bool {
	p, ok := all()[pid]
	if !ok {
		return false
	}
	stat, _ := os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(stat)) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			booted, _ := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return math.Abs(booted+p.start/ticks-started) < 2
		}
	}
	return false
}

// cpu returns the model name of the machine's processors.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

// machine describes this machine.
func machine() (processor string, cores int, system string) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return cpu(), runtime.NumCPU(), strings.TrimSpace(runtime.GOOS + " " + string(release))
}
