package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpd/bench"
	chaos "mcpd/chaos/run"
)

// Keys are read only from places that other users cannot see.
func TestKeysOfTenantsAreReadFromFilesAndTheEnvironment(t *testing.T) {
	env := func(name string) (string, bool) { return "secret", name == "ACME" }
	read := func(name string) ([]byte, error) {
		if name != "globex.key" {
			return nil, fs.ErrNotExist
		}
		return []byte("another\n"), nil
	}
	keys, err := readKeys([]string{"acme=env:ACME", "globex=@globex.key"}, env, read)
	if want := (map[string]string{"acme": "secret", "globex": "another"}); err != nil ||
		!maps.Equal(keys, want) {
		t.Errorf("%v, %v", keys, err)
	}
	for _, text := range []string{"acme", "acme=secret", "=env:ACME", "acme=env:NONE", "acme=@none"} {
		if keys, err := readKeys([]string{text}, env, read); err == nil {
			t.Errorf("%s: %v", text, keys)
		}
	}
}

func TestExitCodesOfRunsThatDidNotBegin(t *testing.T) {
	for err, want := range map[error]int{
		chaos.ErrProduction: exitPermission,
		fmt.Errorf("tenant x: %w", chaos.ErrUnreachable): exitUnavailable,
		fmt.Errorf("%w: run x-1", chaos.ErrBusy):         exitBusy,
		errors.New("no tenant is left"):                  exitFailure,
	} {
		var f *failure
		if !errors.As(chaosFailure(err), &f) || f.code != want {
			t.Errorf("%v: %v, want %d", err, f, want)
		}
	}
}

// The files of reports are checked for writability before the run.
func TestFilesOfReportsAreTriedFirst(t *testing.T) {
	dir := t.TempDir()
	there, missing := filepath.Join(dir, "there"), filepath.Join(dir, "missing")
	if err := os.WriteFile(there, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writable("", there, missing); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(there); string(text) != "kept" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left a file behind: %v", err)
	}
	nowhere := filepath.Join(missing, "x")
	side := &strings.Builder{}
	for _, r := range []chaosRun{{to: reports{html: nowhere}}, {report: filepath.Join(there, "x")}} {
		r.admin = "127.0.0.1:1"
		if err := r.run(t.Context(), side, side, []string{"nothing"}); !errors.As(err,
			new(*fs.PathError)) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	err := benchRun(t.Context(), side, bench.Options{Names: []string{"no such"}, Say: t.Logf},
		&benchFiles{json: nowhere})
	if !errors.Is(err, fs.ErrNotExist) || side.Len() > 0 {
		t.Errorf("%v, %s", err, side)
	}
}
