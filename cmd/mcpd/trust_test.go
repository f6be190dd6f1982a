package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcpd/gateway/config"
)

// others is a user and a group that this process does not have.
const others = 54321

// A path that another user could change is refused with a sentence, wherever on the path the
// problem is. A path that only root and this user can change is accepted.
func TestOnlyOwnFilesAreTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for _, c := range []struct {
		name string
		// dir belongs to this user; below it there is a/b/file
		setup func(dir string) error
		path  string // "a/b/file" if empty
		// want is a part of the error; empty for none.
		want string
	}{
		{"ours", func(string) error { return nil }, "", ""},
		{"is not there", func(string) error { return nil }, "a/none/file", ""},
		{"below a file", func(string) error { return nil }, "a/b/file/none", ""},
		{"everyone reads", func(d string) error { return os.Chmod(d+"/a/b/file", 0o644) }, "", ""},
		{"everyone writes", func(d string) error {
			return os.Chmod(d+"/a/b/file", 0o646)
		}, "", "/file: everyone may write this file (mode 0646), because, chmod o-w DIR/a/b/file"},
		{"our group writes", func(d string) error { return os.Chmod(d+"/a/b/file", 0o664) }, "", ""},
		{"another group reads", func(d string) error {
			return os.Chown(d+"/a/b/file", -1, others)
		}, "", ""},
		{"another group writes", func(d string) error {
			return firstOf(os.Chown(d+"/a/b/file", -1, others), os.Chmod(d+"/a/b/file", 0o664))
		}, "",
			"/file: group 54321, which this process is not in, may write this file (mode 0664), because, " +
				"chmod g-w DIR/a/b/file"},
		{"another's", func(d string) error {
			return os.Chown(d+"/a/b/file", others, -1)
		}, "",
			"/file: user 54321 owns this file, only root and the user of this process (0) are trusted, " +
				"chown 0 DIR/a/b/file"},
		{"another's directory", func(d string) error {
			return os.Chown(d+"/a", others, -1)
		}, "", "/a: user 54321 owns this directory"},
		{"everyone's directory", func(d string) error {
			return os.Chmod(d+"/a", 0o777)
		}, "",
			"/a: everyone may write this directory (mode 0777), a user who may write it can replace its " +
				"entries, chmod o-w DIR/a"},
		{"everyone's directory, where nothing is yet", func(d string) error {
			return os.Chmod(d+"/a", 0o777)
		}, "a/none", "/a: everyone may write"},
		{"another group's directory", func(d string) error {
			return firstOf(os.Chown(d+"/a/b", -1, others), os.Chmod(d+"/a/b", 0o770))
		}, "", "/b: group 54321"},
		{"a directory like /tmp", func(d string) error { return syscall.Chmod(d+"/a", 0o1777) }, "", ""},
		{"a directory like /tmp itself", func(d string) error {
			return syscall.Chmod(d+"/a", 0o1777)
		}, "a", "/a: everyone may write this directory"},
		{"a link", func(d string) error { return os.Symlink("a/../a/b", d+"/link") }, "link/file", ""},
		{"a link of another", func(d string) error {
			return firstOf(os.Symlink(d+"/a/b", d+"/link"), os.Lchown(d+"/link", others, others))
		}, "link/file", "/link: user 54321 owns this link"},
		{"a link to what everyone writes", func(d string) error {
			return firstOf(os.Symlink("a/b/file", d+"/link"), os.Chmod(d+"/a/b/file", 0o666))
		}, "link", "/a/b/file: everyone may write this file"},
		{"a link by way of another's directory", func(d string) error {
			return firstOf(os.Symlink("a/b/file", d+"/link"), os.Chown(d+"/a", others, -1))
		}, "link", "/a: user 54321 owns"},
		{"links in a circle", func(d string) error {
			return os.Symlink("link", d+"/link")
		}, "link", "there are too many symbolic links"},
		{"out and in again", func(d string) error {
			return firstOf(os.Mkdir(d+"/c", 0o777), os.Chmod(d+"/c", 0o777), os.Symlink(d+"/c/x", d+"/a/up"),
				os.Mkdir(d+"/c/x", 0o700))
		}, "a/up/../../a/b/file", "/c: everyone may write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := firstOf(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/file", nil, 0o600),
				c.setup(dir)); err != nil {
				t.Fatal(err)
			}
			path := dir + "/a/b/file"
			if c.path != "" {
				path = dir + "/" + c.path
			}
			err := currentIdentity().checkPath(path, "because")
			switch want := strings.ReplaceAll(c.want, "DIR", dir); {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// Another user does not trust the files of this user, unless this user is root.
func TestTheUserOfAnotherProcessDoesNotTrustOurs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := identity{others, nil}.checkPath(file, "because")
	if root := os.Geteuid() == 0; root != (err == nil) {
		t.Errorf("as root: %t, %v", root, err)
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// State and tokens are never in the working directory, whatever the environment lacks.
func TestStateIsNeverInTheWorkingDirectory(t *testing.T) {
	for _, env := range []map[string]string{
		{}, {"HOME": ""}, {"HOME": "."},
		{"STATE_DIRECTORY": "state", "XDG_STATE_HOME": "state", "RUNTIME_DIRECTORY": "run",
			"XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp", "HOME": "home"},
		{"HOME": "/home/me"}, {"XDG_STATE_HOME": "/x"}, {"STATE_DIRECTORY": "/var/lib/m"},
		{"TMPDIR": "/t"},
	} {
		getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		for _, root := range []bool{false, true} {
			if dir, err := stateDir("", getenv, root); err == nil && !filepath.IsAbs(dir) ||
				err != nil && !strings.Contains(err.Error(), "--state-dir") {
				t.Errorf("%v, root %t: state in %q, %v", env, root, dir, err)
			}
			if dir := runtimeDir(getenv, root); !filepath.IsAbs(dir) {
				t.Errorf("%v, root %t: tokens in %q", env, root, dir)
			}
		}
	}
}

// A state directory that other users can change is refused, and so is one with a file that they
// can change.
func TestStateOfOthersIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	lock, err := lockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	lock.close()
	if err := os.Chmod(dir+"/lock", 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := lockState(dir); err == nil ||
		!strings.Contains(err.Error(), "state directory: "+dir+"/lock: everyone may write this file") {
		t.Errorf("a file: %v", err)
	}
	if err := firstOf(os.Chmod(dir+"/lock", 0o600), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := lockState(dir); err == nil || !strings.HasSuffix(err.Error(), "chmod o-w "+dir) {
		t.Errorf("the directory: %v", err)
	}
}

// `mcpd stdio`, which editors start in any project, ignores a configuration in the working
// directory unless it is named. `mcpd serve` does not ignore it.
func TestStdioReadsNoFileOfTheWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", "")
	if err := os.WriteFile("mcpd.yaml",
		[]byte("tenants: {default: {servers: {evil: {command: evil}}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flag, env string
		there           func(string) bool
		// want is the source; empty for an error.
		want string
	}{
		{"stdio", "", "", isAbsoluteFile, builtIn},
		{"stdio, named by the variable alone", "", "mcpd.yaml", isAbsoluteFile, ""},
		{"stdio, named", "mcpd.yaml", "", isAbsoluteFile, "mcpd.yaml"},
		{"stdio, the whole path by the variable", "", filepath.Join(dir, "mcpd.yaml"), isAbsoluteFile,
			filepath.Join(dir, "mcpd.yaml")},
		{"serve", "", "", fileExists, "mcpd.yaml"},
		{"serve, named by the variable", "", "mcpd.yaml", fileExists, ""},
	} {
		t.Setenv("MCPD_CONFIG", c.env)
		_, source, err := loadWhere(c.there, c.flag, nil, config.Default)
		if want := c.want; (err != nil) != (want == "") || err == nil && source != want {
			t.Errorf("%s: %q, %v, want %q", c.name, source, err, want)
		}
	}
}
