package main

import (
	"io/fs"
	"math"
	"os"
	slash "path"
	"runtime/debug"
	"strconv"
	"strings"
)

// softShare is how much of the memory that there is the runtime may use before it collects all the time. The rest is for what it does not
// count: the program itself, and what a collection needs while it runs.
const softShare = 0.9

// memoryLimit is what the host may use, in bytes; 0 is no limit.
type memoryLimit struct {
	runtime  uint64 // before the runtime collects all the time
	resident uint64 // by the process as a whole
}

// limitMemory tells the runtime how much memory there is, unless GOMEMLIMIT already does, and returns what may be used. Configured is what the
// configuration says, 0 for nothing.
func limitMemory(configured int64, root fs.FS) memoryLimit {
	m := granted(debug.SetMemoryLimit(-1), configured, root)
	if m.runtime > 0 {
		debug.SetMemoryLimit(int64(m.runtime))
	}
	return m
}

// granted is what somebody lets the host use: the configuration, or else GOMEMLIMIT, or else the kernel. GOMEMLIMIT is what the runtime may use,
// math.MaxInt64 when it is not set; alone it grants the process no more than that.
func granted(goMemLimit, configured int64, root fs.FS) memoryLimit {
	there := configured
	switch {
	case there > 0:
	case goMemLimit < math.MaxInt64:
		return memoryLimit{uint64(goMemLimit), uint64(goMemLimit)}
	default:
		there = memoryOf(root)
	}
	if there == 0 {
		return memoryLimit{}
	}
	return memoryLimit{uint64(min(goMemLimit, int64(float64(there)*softShare))), uint64(there)}
}

// system is where the kernel tells what there is.
func system() fs.FS { return os.DirFS("/") }

// memoryOf is the least of what the machine has and what the control groups of this process may use, of both kinds; 0 when nothing is known,
// as on a system that is not Linux.
func memoryOf(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, file := range limitFiles(root) {
		if n, err := strconv.ParseInt(strings.TrimSpace(read(root, file)), 10, 64); err == nil && n > 0 { // "max" is none
			least = min(least, n)
		}
	}
	for line := range strings.Lines(read(root, "proc/meminfo")) {
		if kib, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")), 10, 64); err == nil && n > 0 {
				least = min(least, n<<10)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// limitFiles are those of the groups that this process is in, and of the groups around them, whose limits hold as well.
func limitFiles(root fs.FS) (files []string) {
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		mount, name := "sys/fs/cgroup", "memory.max"
		switch controllers {
		case "": // version 2
		case "memory":
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := slash.Clean("/" + group); ; dir = slash.Dir(dir) {
			files = append(files, slash.Join(mount, dir, name))
			if dir == "/" {
				break
			}
		}
	}
	return files
}

// read is the text of a file, empty when there is none.
func read(root fs.FS, file string) string {
	text, _ := fs.ReadFile(root, file) // a kernel without it has no such limit
	return string(text)
}
