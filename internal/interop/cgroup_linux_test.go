package interop

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/transport/stdio/cgroup"
)

// groupsOf returns the control groups of a server from the copy of /proc/self/cgroup that the
// server wrote.
func groupsOf(t *testing.T, file string) (dirs []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) == 3 && strings.Contains(part[2], "/mcpd-") {
			dirs = append(dirs, filepath.Base(part[2]))
		}
	}
	return dirs
}

func findGroups(names []string) (found []string) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		for _, name := range names {
			if err == nil && d.Name() == name {
				found = append(found, path)
			}
		}
		return nil
	})
	return found
}

// A server with configured limits of memory and processes runs in a control group with these
// limits. If the host cannot create one, the log says so. The group is removed when the server
// stops. If the host is killed, the next host removes the group.
func TestServersHaveControlGroups(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(t.TempDir(), "groups")
	config := fmt.Sprintf("tenants: {default: {servers: {tight: {command: sh, args: [-c, %q, %q], "+
		"env: {%s: %q, %s: %q}, max_memory: 1GiB, max_processes: 100}}}}\n",
		"cat /proc/self/cgroup > "+said+`; exec "$0"`, path, serveSDK, "1", quickExit[0], quickExit[1])
	host := mcptest.Start(t, mcptest.HostOptions{Config: config})
	call := func(h *mcptest.Host) {
		t.Helper()
		if got := dial(t, h.MCP+"/tight/mcp", "").call("echo",
			map[string]any{"text": "hi"}); got != "hi" {
			t.Fatalf("got %q", got)
		}
	}
	call(host)
	tree, err := cgroup.Find()
	if err == nil {
		err = tree.Lacks(cgroup.Limits{Memory: 1, Processes: 1})
	}
	if err != nil {
		if !strings.Contains(host.Log(), "upstream_unlimited") {
			t.Errorf("there can be no group (%v), and the log does not say so", err)
		}
		t.Skipf("no control group of our own: %v", err)
	}
	first := groupsOf(t, said)
	if len(findGroups(first)) == 0 || strings.Contains(host.Log(), "upstream_unlimited") {
		t.Fatalf("it is in the groups %q", first)
	}
	host.Kill()
	second := mcptest.Start(t, mcptest.HostOptions{Config: config, State: host.State})
	// the next host becomes ready before it has removed the groups of the last one
	awaitNoGroups(t, first)
	call(second)
	next := groupsOf(t, said)
	if len(next) == 0 || next[0] == first[0] {
		t.Errorf("it is in the groups %q, and was in %q", next, first)
	}
	second.Stop()
	awaitNoGroups(t, next)
}

// awaitNoGroups waits until none of these groups exists.
func awaitNoGroups(t *testing.T, names []string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); len(findGroups(names)) >
		0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v are left", findGroups(names))
		}
	}
}
