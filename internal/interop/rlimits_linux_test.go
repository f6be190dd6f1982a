package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mcpd/internal/mcptest"
)

// Servers run with the default resource limits, or with those of the configuration.
func TestServersAreLimited(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	server := func(name, more string) string { // the host sets the limits while the server starts
		return fmt.Sprintf("{command: sh, args: [-c, %q, %q], env: {%s: %q, %s: %q}%s}",
			fmt.Sprintf(`sleep 0.3; echo $(ulimit -n) $(ulimit -f) $(ulimit -c) > %s/%s; exec "$0"`, dir,
				name), path, serveSDK, name, quickExit[0], quickExit[1], more)
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf("tenants: {default: {servers: "+
		"{plain: %s, tight: %s}}}\n",
		server("plain", ""), server("tight", ", max_files: 100, max_file_size: 1MiB"))})
	// sizes in units of 512 bytes
	for name, want := range map[string]string{"plain": "1024 2097152 0\n", "tight": "100 2048 0\n"} {
		if got := dial(t, host.MCP+"/"+name+"/mcp", "").call("echo",
			map[string]any{"text": "hi"}); got != "hi" {
			t.Fatalf("%s: got %q", name, got)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: files, file size and core size %q (%v), want %q", name, got, err, want)
		}
	}
}
