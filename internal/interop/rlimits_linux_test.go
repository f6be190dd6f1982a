package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mcpd/internal/mcptest"
)

// What a server may use is bounded by default, and otherwise as configured.
func TestServersAreLimited(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	server := func(name, more string) string { // the limits are set while it starts
		return fmt.Sprintf("{command: sh, args: [-c, %q, %q], env: {%s: %q, %s: %q}%s}",
			fmt.Sprintf(`sleep 0.3; echo $(ulimit -n) $(ulimit -f) $(ulimit -c) > %s/%s; exec "$0"`, dir, name), path, serveSDK, name, quickExit[0], quickExit[1], more)
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: {plain: %s, tight: %s}}}\n",
		server("plain", ""), server("tight", ", max_files: 100, max_file_size: 1MiB"))})
	for name, want := range map[string]string{"plain": "1024 2097152 0\n", "tight": "100 2048 0\n"} { // sizes in 512 bytes
		if got := dial(t, host.MCP+"/"+name+"/mcp", "").call("echo", map[string]any{"text": "hi"}); got != "hi" {
			t.Fatalf("%s: got %q", name, got)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: files, file size and core size %q (%v), want %q", name, got, err, want)
		}
	}
}
