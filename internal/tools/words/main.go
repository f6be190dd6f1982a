// Command words checks the text of the project's Go files: the width of lines, the sentences of
// comments, and names that have been replaced. It also finds terms of the glossary that no file
// uses.
//
//	go -C internal/tools run ./words
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// root is the project's root seen from internal/tools, where go -C starts the program.
const root = "../.."

func main() {
	found, err := check(os.DirFS(root))
	for _, f := range found {
		fmt.Println(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
	}
	if err != nil || len(found) > 0 {
		os.Exit(1)
	}
}

// finding is a place in a file, and what is wrong there.
type finding struct {
	file string
	line int
	what string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// check reads every Go file that a person writes, and the glossary.
func check(tree fs.FS) (found []finding, err error) {
	var texts []string
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || d.Name() == "testdata" || d.Name() == "gen"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil || strings.HasPrefix(string(text), "// Code generated ") {
			return err
		}
		texts = append(texts, string(text))
		if what := checkName(strings.TrimSuffix(d.Name(), ".go")); what != "" {
			found = append(found, finding{name, 1, what})
		}
		for _, f := range checkFile(text) {
			f.file = name
			found = append(found, f)
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	unused, err := checkGlossary(tree, texts)
	return append(found, unused...), err
}
