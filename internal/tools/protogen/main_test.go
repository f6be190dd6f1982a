package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckFindsEveryDifference(t *testing.T) {
	const out = "proto/gen/mcpd/v1/"
	tests := []struct {
		name   string
		change func(root string) error
		want   string // "" means up to date
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"edited", func(root string) error {
			return os.WriteFile(filepath.Join(root, out+"a.pb.go"), nil, 0o644)
		}, "a.pb.go"},
		{"missing", func(root string) error {
			return os.Remove(filepath.Join(root, out+"a.pb.go"))
		}, "a.pb.go"},
		{"written by hand", func(root string) error {
			return os.WriteFile(filepath.Join(root, out+"b.go"), nil, 0o644)
		}, "b.go"},
	}
	for _, test := range tests {
		root := t.TempDir()
		source := filepath.Join(root, "proto/mcpd/v1/a.proto")
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			t.Fatal(err)
		}
		const content = `syntax = "proto3"; package mcpd.v1; import "google/protobuf/timestamp.proto";
			option go_package = "mcpd/proto/gen/mcpd/v1;mcpdv1"; message A { google.protobuf.Timestamp at = 1; }`
		if err := os.WriteFile(source, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := run(root, false); err != nil {
			t.Fatal(err)
		}
		if err := test.change(root); err != nil {
			t.Fatal(err)
		}
		err := run(root, true)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: check = %v, want it to name %q", test.name, err, test.want)
		}
		if err := run(root, false); err != nil {
			t.Errorf("%s: writing: %v", test.name, err)
		}
		if err := run(root, true); err != nil {
			t.Errorf("%s: after writing: %v", test.name, err)
		}
	}
}

func TestMistakesInASourceAreSaid(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, sources), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, sources, "a.proto"), []byte("message"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(root, false); err == nil || !strings.Contains(err.Error(), "a.proto") {
		t.Errorf("run = %v, want an error that names the file", err)
	}
}
