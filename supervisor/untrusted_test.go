package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/gateway/config"
	"mcpd/internal/mcptest"
)

// A check of a configuration finds every server whose file of certificates cannot be used.
func TestUntrustedServersAreFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := mcptest.NewAuthority(t).File()
	text := "tenants:\n  acme:\n    servers:\n"
	for name, file := range map[string]string{
		"good": good, "gone": filepath.Join(dir, "gone"), "empty": write("empty", ""),
		"junk": write("junk", "x"),
	} {
		text += "      " + name + ": {url: \"https://127.0.0.1:1/mcp\", ca: \"" + file + "\"}\n"
	}
	text += "mcpServers: {Imported: {url: \"https://127.0.0.1:1/mcp\", proxy: direct, ca: \"" +
		filepath.Join(dir, "gone") + "\"}}\n"
	c, err := config.Load([]byte(text), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for at, cause := range Untrusted(c) {
		found[at.Tenant+"/"+at.Server] = cause.Error()
	}
	for server, part := range map[string]string{
		"acme/gone": "no such file", "acme/empty": "no certificate", "acme/junk": "no certificate",
		"default/imported": "no such file",
	} {
		if !strings.Contains(found[server], part) {
			t.Errorf("of %s it says %q, want %q", server, found[server], part)
		}
	}
	if len(found) != 4 {
		t.Errorf("found %v", found)
	}
}
