package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpd/internal/mcptest"
)

// The published file server serves the folders of its client from the first call on, and not the
// wider folder of its command line. It is no longer asked for a client that exits without ending
// its session, as the official SDKs do.
func TestFileServerServesTheFoldersOfItsClient(t *testing.T) {
	dir := mcptest.Modules(t)
	wide, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := mcptest.Start(t, mcptest.HostOptions{Config: fmt.Sprintf(
		"tenants: {default: {servers: {files: {command: npx, args: [-y, %q, %q], cwd: %q}}}}\n",
		filesystem, wide, dir)})
	script := mcptest.Script(t, time.Minute, "testdata/roots.mjs")
	for i, generation := range []string{"1", "1"} {
		own := filepath.Join(wide, fmt.Sprint("own", i))
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := script(nil, generation, host.MCP+"/files/mcp", "file://"+own)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		if err := json.Unmarshal(out, &lines); err != nil {
			t.Fatal(err)
		}
		if first := lines[0]; i == 0 && strings.TrimSpace(first) != "Allowed directories:\n"+own {
			t.Errorf("its first call: %q", first)
		}
		if last := lines[len(lines)-1]; strings.TrimSpace(last) != "Allowed directories:\n"+own {
			t.Errorf("client %d: %q", i, last)
		}
	}
}
