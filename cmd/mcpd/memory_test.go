package main

import (
	"testing"
	"testing/fstest"
)

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
			"sys/fs/cgroup/system.slice/mcpd.service/memory.max": "1000000\n", "sys/fs/cgroup/system.slice/memory.max": "max\n",
		}, 1000000},
		"a group around it": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/mcpd.service\n",
			"sys/fs/cgroup/system.slice/mcpd.service/memory.max": "1000000\n", "sys/fs/cgroup/system.slice/memory.max": "900000\n",
		}, 900000},
		"a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2000000\n",
		}, 2000000},
		"a container that is shown a path of its machine": {map[string]string{
			"proc/self/cgroup": "0::/docker/0123\n", "sys/fs/cgroup/memory.max": "2000000\n",
		}, 2000000},
		"a group of version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/a\n0::/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
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
