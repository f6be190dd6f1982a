package main

import (
	"fmt"
	"math"
	"testing"
	"testing/fstest"
)

// The limits of the runtime and of the process depend on which of the three sources set one.
func TestMemoryIsGranted(t *testing.T) {
	const none = math.MaxInt64
	for _, c := range []struct {
		name                            string
		goMemLimit, configured, machine int64
		want                            memoryLimit
	}{
		{"nobody", none, 0, 0, memoryLimit{}},
		{"the machine", none, 0, 1000 << 10, memoryLimit{900 << 10, 1000 << 10}},
		{"the configuration", none, 1000, 5000 << 10, memoryLimit{900, 1000}},
		{"GOMEMLIMIT alone", 1000, 0, 0, memoryLimit{1000, 1000}},
		{"GOMEMLIMIT before the machine", 1000, 0, 5000 << 10, memoryLimit{1000, 1000}},
		{"GOMEMLIMIT below the configuration", 500, 1000, 5000 << 10, memoryLimit{500, 1000}},
		{"GOMEMLIMIT above the configuration", 2000, 1000, 5000 << 10, memoryLimit{900, 1000}},
	} {
		root := fstest.MapFS{}
		if c.machine > 0 {
			root["proc/meminfo"] = &fstest.MapFile{
				Data: fmt.Appendf(nil, "MemTotal: %d kB\n", c.machine>>10),
			}
		}
		if got := resolveMemoryLimit(c.goMemLimit, c.configured, root); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestMemoryIsTheLeastThatSomebodyGrants(t *testing.T) {
	const meminfo = "MemTotal:        8000 kB\nMemFree:         4000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, 0},
		"a machine":        {map[string]string{"proc/meminfo": meminfo}, 8000 << 10},
		"a group without a limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/mcpd.service\n",
			"sys/fs/cgroup/system.slice/mcpd.service/memory.max": "max\n",
		}, 8000 << 10},
		"a group": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/mcpd.service\n",
			"sys/fs/cgroup/system.slice/mcpd.service/memory.max": "1000000\n",
			"sys/fs/cgroup/system.slice/memory.max":              "max\n",
		}, 1000000},
		"a group around it": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/mcpd.service\n",
			"sys/fs/cgroup/system.slice/mcpd.service/memory.max": "1000000\n",
			"sys/fs/cgroup/system.slice/memory.max":              "900000\n",
		}, 900000},
		"a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000\n",
		}, 2000000},
		"a container that is shown a path of its machine": {map[string]string{
			"proc/self/cgroup": "0::/docker/0123\n", "sys/fs/cgroup/memory.max": "2000000\n",
		}, 2000000},
		"a group of version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/a\n0::/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
		}, 3000000},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryOf(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
