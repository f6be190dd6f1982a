package main

import (
	"os"
	"strings"
	"testing"
)

// A path of the configuration may contain the value of a variable, so the errors of machine do
// not repeat the path.
func TestMachineRepeatsNoPath(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, look := range []func(string) error{machine.Program, machine.Directory} {
		for _, path := range []string{"/no/such/secret", file + "/secret", file, "secret"} {
			if err := look(path); err == nil || strings.Contains(err.Error(), "secret") ||
				strings.Contains(err.Error(), file) {
				t.Errorf("%s: got %v", path, err)
			}
		}
	}
}
