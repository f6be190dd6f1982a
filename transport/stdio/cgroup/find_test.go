package cgroup

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine makes a fake /proc and /sys/fs/cgroup. Its files are given as "path: text", where {} is
// the folder.
func machine(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name, text, _ := strings.Cut(strings.ReplaceAll(f, "{}", dir), ": ")
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	mountsTwo = "mountinfo: 30 25 0:26 / {}/sys rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsOne = "mountinfo: 31 25 0:27 / {}/mem rw shared:1 - cgroup cgroup rw,memory\n32 25 0:28 / " +
		"{}/cpu,pids rw - cgroup cgroup rw,cpu,pids\n" +
		"33 25 0:29 / {}/unified rw - cgroup2 cgroup2 rw\n34 25 0:30 / {}/systemd rw - cgroup cgroup " +
		"rw,name=systemd\n"
)

// A delegated group of version 2 is preferred to those of version 1. If neither is usable, the
// error says why version 2 is not.
func TestFindSaysWhereGroupsCanBeMade(t *testing.T) {
	ours := func(dir, controllers, procs string) []string {
		return []string{
			dir + "/cgroup.controllers: " + controllers, dir + "/cgroup.procs: " + procs,
			dir + "/cgroup.subtree_control: ", dir + "/cgroup.type: domain",
		}
	}
	for _, c := range []struct {
		name  string
		files []string
		want  string // part of the bases, or of the error
	}{
		{"delegated", append(ours("sys/system.slice/mcpd.service", "cpu memory pids\n", "77\n"),
			mountsTwo, "cgroup: 0::/system.slice/mcpd.service\n"),
			"2 memory={}/sys/system.slice/mcpd.service pids={}/sys/system.slice/mcpd.service"},
		{"shared", append(ours("sys/session.scope", "memory pids\n", "70\n77\n"), mountsTwo,
			"cgroup: 0::/session.scope\n"),
			"{}/sys/session.scope holds process 70 beside this one, 77"},
		{"not delegated", append(ours("sys/a", "cpu\n", "77\n"), mountsTwo, "cgroup: 0::/a\n"),
			"{}/sys/a has no controller for memory"},
		{"a container", append(ours("sys", "memory pids\n", "77\n"),
			"mountinfo: 30 25 0:26 /docker/x {}/sys rw - cgroup2 cgroup2 rw\n",
			"cgroup: 0::/docker/x\n"), "2 memory={}/sys pids={}/sys"},
		{"somebody else's part", []string{
			"mountinfo: 30 25 0:26 /docker/x {}/sys rw - cgroup2 cgroup2 rw\n", "cgroup: 0::/docker/xy\n",
		},
			"no control groups are mounted"},
		{"version 1", []string{
			mountsOne, "cgroup: 9:name=systemd:/\n4:memory:/a b/c\n2:cpu,pids:/\n0::/\n",
			"mem/a b/c/tasks: ", "cpu,pids/tasks: ", "unified/cgroup.controllers: hugetlb\n",
		},
			"1 memory={}/mem/a b/c pids={}/cpu,pids"},
		{"version 1 in part", []string{mountsOne, "cgroup: 2:cpu,pids:/\n", "cpu,pids/tasks: "},
			"1 pids={}/cpu,pids"},
		{"nothing", []string{"mountinfo: 1 1 0:1 / / rw - ext4 /dev/vda rw\n", "cgroup: 0::/\n"},
			"no control groups are mounted"},
		{"odd lines", []string{"mountinfo: - \n1 2 - cgroup2\n\n", "cgroup: x\n\n:\n"},
			"no control groups are mounted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := machine(t, c.files...)
			tree, err := find(dir, 77)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = map[bool]string{true: "2", false: "1"}[tree.unified]
				for _, controller := range slices.Sorted(maps.Keys(tree.base)) {
					got += fmt.Sprintf(" %s=%s", controller, tree.base[controller])
				}
			}
			if want := strings.ReplaceAll(c.want, "{}", dir); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func FuzzFolders(f *testing.F) {
	f.Add("0::/a\n4:memory:/b\n",
		"30 25 0:26 / /sys rw - cgroup2 cgroup2 rw\n31 25 0:27 /x /mem rw shared:1 - cgroup cgroup "+
			"rw,memory\n")
	f.Fuzz(func(t *testing.T, groups, mounts string) {
		for controller, dir := range folders(groups, mounts) {
			if dir == "" {
				t.Errorf("%q has no folder", controller)
			}
		}
	})
}
