// Command lint reports where the code breaks the conventions of this repository. It is a table of
// rules over go/analysis. The rules do not depend on the meaning of the code.
//
//	go -C internal/tools run ./lint ./...
package main

import (
	"fmt"
	"go/ast"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/singlechecker"
)

// root is the project's root, seen from internal/tools, where go -C starts this command.
const root = "../.."

func main() {
	if err := enter(root); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
	singlechecker.Main(house)
}

// enter makes dir the working directory. It also sets PWD, because the go command that loads the
// packages trusts PWD.
func enter(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	return os.Setenv("PWD", wd)
}

// house runs every rule of the table.
var house = &analysis.Analyzer{
	Name: "house",
	Doc:  "report where the code leaves the habits of the house",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, r := range rules {
			if r.covers(pass.Pkg.Path()) {
				r.check(pass)
			}
		}
		return nil, nil
	},
}

func (r rule) check(pass *analysis.Pass) {
	for _, file := range pass.Files {
		name := pass.Fset.Position(file.Package).Filename
		if strings.HasSuffix(name, "_test.go") || ast.IsGenerated(file) {
			continue
		}
		for _, f := range r.find(pass, file) {
			pass.Report(analysis.Diagnostic{
				Pos:      f.at,
				Category: r.name,
				Message:  fmt.Sprintf("%s: %s (%s)", f.what, r.do, r.name),
			})
		}
	}
}
