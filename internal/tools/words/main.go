// Command words checks the text of the project's Go files: the width of lines, and the sentences of
// comments.
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

// check reads every Go file that a person writes.
func check(tree fs.FS) (found []finding, err error) {
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
		for _, f := range checkFile(text) {
			f.file = name
			found = append(found, f)
		}
		return nil
	})
	return found, err
}
