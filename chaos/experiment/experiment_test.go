package experiment

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mcpd/chaos/faults"
	"mcpd/gateway/config/document"
)

var update = flag.Bool("update", false, "rewrite expected messages and docs/chaos.gen.md")

//go:generate go test -run ^TestDocumentationIsGenerated$ . -update

// docs/chaos.gen.md is generated from the tables, so that it names every kind, experiment and key.
func TestDocumentationIsGenerated(t *testing.T) {
	const file = "../../docs/chaos.gen.md"
	if *update {
		if err := os.WriteFile(file, Markdown(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(file); err != nil || string(page) != string(Markdown()) {
		t.Errorf("%s is stale: run go generate ./chaos/experiment (%v)", file, err)
	}
}

// The example of the documentation sets every key, so that each key is shown in use.
func TestExampleSaysEverything(t *testing.T) {
	e, err := Parse("example.yaml", Example, faults.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	var said func(v reflect.Value, path string)
	said = func(v reflect.Value, path string) {
		switch {
		case v.IsZero():
			t.Errorf("%s is not said", path)
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				said(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	}
	for _, part := range []any{e.Load, e.Phases, e.AbortIf, e.Expect.Figures["detect_ms"],
		e.Expect.MayRestart, e.Expect.Restarts, e.Expect.TargetErrors, e.Expect.Recovery, e.Probes,
		e.CatalogueIDs} {
		said(reflect.ValueOf(part), fmt.Sprintf("%T", part))
	}
}

// Every *.bad.yaml contains a mistake and, in its first lines, the expected messages.
func TestMistakesAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil || len(files) < 45 {
		t.Fatalf("%d files with mistakes, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		body := string(data)
		for line, rest, _ := strings.Cut(body, "\n"); strings.HasPrefix(line,
			"#: "); line, rest, _ = strings.Cut(body, "\n") {
			want, body = append(want, strings.TrimPrefix(line, "#: ")), rest
		}
		_, err = Parse(filepath.Base(file), []byte(body), faults.Kinds)
		var problems document.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: no mistake was found", file)
			continue
		}
		if got := err.Error(); got != strings.Join(want, "\n") {
			if !*update {
				t.Errorf("%s:\n got %s\nwant %s", file, got, strings.Join(want, "\nwant "))
			} else if err := os.WriteFile(file,
				[]byte("#: "+strings.ReplaceAll(got, "\n", "\n#: ")+"\n"+body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range problems {
			if p.Line == 0 || p.Col == 0 || p.What == "" || p.Why == "" || p.Do == "" {
				t.Errorf("%s: %q does not say where, what, why and what to do", file, p)
			}
		}
	}
}
