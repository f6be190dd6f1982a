package config

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"mcpd/gateway/config/document"
	"mcpd/internal/regular"

	_ "embed"
)

// embedded is the configuration of a host without a configuration file.
//
//go:embed default.yaml
var embedded []byte

// Default returns the configuration of a host without a configuration file: a demonstration on
// loopback.
func Default(o Options) (*Config, error) {
	o.File = "built-in configuration"
	return Load(embedded, o)
}

// arena is the configuration of a host for chaos experiments without a configuration file.
//
//go:embed arena.yaml
var arena []byte

// Arena returns the configuration of a host for chaos experiments without a configuration file:
// four tenants on loopback without keys. Three of them have a server that is a child process, and
// one has a server behind a URL. The processes run program, which keeps its state below the
// folder state.
func Arena(o Options, program, state, url string) (*Config, error) {
	o.File = "built-in arena"
	vars := map[string]string{
		"MCPD_ARENA_PROGRAM": program, "MCPD_ARENA_STATE": state, "MCPD_ARENA_URL": url,
	}
	o.Env = func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
	return Load(arena, o)
}

// Find returns the configuration file to use: the file that the flag names, else the one that
// $MCPD_CONFIG names, else the first of the usual files that exists. "" means that there is none
// and Default applies. A named file need not exist; reading it reports that.
func Find(flag string, getenv func(string) (string, bool), exists func(string) bool) string {
	if flag != "" {
		return flag
	}
	if named, _ := getenv("MCPD_CONFIG"); named != "" {
		return named
	}
	for _, path := range usual(getenv) {
		if exists(path) {
			return path
		}
	}
	return ""
}

// usual returns the default paths of the configuration file.
func usual(getenv func(string) (string, bool)) []string {
	paths := []string{"mcpd.yaml"}
	// The XDG specification says that a relative path is to be ignored.
	if xdg, _ := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(xdg) {
		paths = append(paths, filepath.Join(xdg, "mcpd", "mcpd.yaml"))
	} else if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		paths = append(paths, filepath.Join(home, ".config", "mcpd", "mcpd.yaml"))
	}
	return append(paths, "/etc/mcpd/mcpd.yaml")
}

// Read reads and loads a file. It refuses a file that everyone may write, because a configuration
// names programs to run. It checks the permissions of the opened file, not of the path, because
// the path may change.
func Read(path string, o Options) (*Config, error) {
	o.File = path
	f, err := regular.Open(path)
	switch {
	case errors.Is(err, regular.ErrNotRegular):
		return nil, Problems{{
			File: path, What: regular.ErrNotRegular.Error(), Why: "reading a pipe or a device may never end",
			Do: "write the configuration to a file and name that",
		}}
	case err != nil:
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Mode().Perm()&0o002 != 0:
		return nil, Problems{
			{File: path, What: fmt.Sprintf("everyone may write this file (mode %04o)", info.Mode().Perm()),
				Why: "it names programs to run", Do: "chmod o-w " + path},
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, document.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return Load(data, o)
}
