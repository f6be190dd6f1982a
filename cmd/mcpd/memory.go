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

// runtimeMemoryShare is the share of the available memory that the Go runtime may use before it
// collects garbage constantly. The rest is for memory that the runtime does not count: the program
// text and the working memory of a collection.
const runtimeMemoryShare = 0.9

// memoryLimit is the memory that the host may use, in bytes. 0 means no limit.
type memoryLimit struct {
	// runtime bounds the memory of the Go runtime. Above it the runtime collects garbage constantly.
	runtime uint64
	// resident bounds the whole process.
	resident uint64
}

// limitMemory sets the memory limit of the runtime, unless GOMEMLIMIT sets it already, and
// returns the limits. Configured is the limit of the configuration in bytes, 0 for none.
func limitMemory(configured int64, root fs.FS) memoryLimit {
	m := resolveMemoryLimit(debug.SetMemoryLimit(-1), configured, root)
	if m.runtime > 0 {
		debug.SetMemoryLimit(int64(m.runtime))
	}
	return m
}

// resolveMemoryLimit returns the memory that the host may use. The configuration decides; without
// it GOMEMLIMIT; without both the kernel. goMemLimit is the limit of the runtime, math.MaxInt64 if
// GOMEMLIMIT is not set. If only GOMEMLIMIT is set, it is the limit of the whole process as well.
func resolveMemoryLimit(goMemLimit, configured int64, root fs.FS) memoryLimit {
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
	return memoryLimit{
		uint64(min(goMemLimit, int64(float64(there)*runtimeMemoryShare))), uint64(there),
	}
}

// system returns the file system in which the kernel publishes memory limits.
func system() fs.FS { return os.DirFS("/") }

// memoryOf returns the least of the machine's memory and the limits of this process's control
// groups, version 1 and 2. It returns 0 if nothing is known, as on systems other than Linux.
func memoryOf(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, file := range limitFiles(root) {
		// "max" means no limit.
		if n, err := strconv.ParseInt(strings.TrimSpace(read(root, file)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	for line := range strings.Lines(read(root, "proc/meminfo")) {
		if kib, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib),
				"kB")), 10, 64); err == nil && n > 0 {
				least = min(least, n<<10)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// limitFiles returns the limit files of the control groups of this process and of all groups
// around them, whose limits apply as well.
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

// read returns the text of a file, or an empty string if the file cannot be read.
func read(root fs.FS, file string) string {
	text, _ := fs.ReadFile(root, file) // A kernel without the file has no such limit.
	return string(text)
}
