package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFileIsFound(t *testing.T) {
	for _, c := range []struct {
		flag  string
		env   map[string]string
		there string
		want  string
	}{
		{"a.yaml", map[string]string{"MCPD_CONFIG": "b.yaml"}, "mcpd.yaml", "a.yaml"},
		{"", map[string]string{"MCPD_CONFIG": "b.yaml"}, "mcpd.yaml", "b.yaml"},
		{"", nil, "mcpd.yaml", "mcpd.yaml"},
		{"", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/mcpd/mcpd.yaml",
			"/x/mcpd/mcpd.yaml"},
		{"", map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/h"}, "/h/.config/mcpd/mcpd.yaml",
			"/h/.config/mcpd/mcpd.yaml"},
		{"", nil, "/etc/mcpd/mcpd.yaml", "/etc/mcpd/mcpd.yaml"},
		{"", nil, "", ""},
	} {
		got := Find(c.flag, func(name string) (string, bool) {
			v, ok := c.env[name]
			return v, ok
		}, func(path string) bool { return path == c.there })
		if got != c.want {
			t.Errorf("with %+v the file is %q", c, got)
		}
	}
}

// S90: the permissions of the opened file are checked.
func TestFilesThatOthersMayWriteAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcpd.yaml")
	if err := os.WriteFile(path, []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(path, options("")); err != nil || len(c.Tenants) != 1 {
		t.Errorf("a private file: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o606); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link, t.TempDir()} {
		if _, err := Read(p, options("")); !errors.As(err, new(Problems)) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), options("")); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// A pipe or a device is refused without waiting for it.
func TestFilesThatAreNotRegularAreRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, "/dev/null", "/dev/zero"} {
		done := make(chan error, 1)
		go func() { // owner: the test, which waits for the result
			_, err := Read(path, options(""))
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.As(err, new(Problems)) ||
				!strings.Contains(err.Error(), "this is not a regular file") {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s is waited for", path)
		}
	}
}

// A host for chaos experiments without a configuration file has four tenants on loopback without
// keys. Three have a process of their own, one has a URL.
func TestArena(t *testing.T) {
	c, err := Arena(options(""), "/opt/mcpd", "/var/lib/mcpd/arena", "http://127.0.0.1:7422/mcp")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tenant := range c.Tenants {
		names = append(names, tenant.Name)
		if len(tenant.Keys) > 0 || len(tenant.Servers) != 1 || tenant.Servers[0].Name != "demo" {
			t.Fatalf("%s: keys %v, servers %v", tenant.Name, tenant.Keys, tenant.Servers)
		}
		s := tenant.Servers[0]
		if tenant.Name == "umbrella" {
			if got := s.URL.Reveal(); got != "http://127.0.0.1:7422/mcp" {
				t.Errorf("%s: %s", tenant.Name, got)
			}
			continue
		}
		if got := s.Command.Reveal() + " " +
			s.Args[len(s.Args)-1].Reveal(); got != "/opt/mcpd /var/lib/mcpd/arena/"+tenant.Name {
			t.Errorf("%s: %s", tenant.Name, got)
		}
	}
	if !slices.Equal(names, []string{"acme", "globex", "initech", "umbrella"}) {
		t.Errorf("tenants %v", names)
	}
}
