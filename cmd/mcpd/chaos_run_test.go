package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"testing"

	chaos "mcpd/chaos/run"
)

// Keys come from where not everybody sees them.
func TestKeysOfTenantsAreReadFromFilesAndTheEnvironment(t *testing.T) {
	env := func(name string) (string, bool) { return "secret", name == "ACME" }
	read := func(name string) ([]byte, error) {
		if name != "globex.key" {
			return nil, fs.ErrNotExist
		}
		return []byte("another\n"), nil
	}
	keys, err := readKeys([]string{"acme=env:ACME", "globex=@globex.key"}, env, read)
	if want := (map[string]string{"acme": "secret", "globex": "another"}); err != nil || !maps.Equal(keys, want) {
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
