package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

type finding struct {
	at   token.Pos
	what string
}

// ownerMark begins the comment that says who waits for a goroutine.
const ownerMark = "owner:"

// marked returns the numbers of the lines directly below comments that begin with mark.
func marked(pass *analysis.Pass, file *ast.File, mark string) map[int]bool {
	lines := make(map[int]bool)
	for _, group := range file.Comments {
		if strings.HasPrefix(group.Text(), mark) {
			lines[pass.Fset.Position(group.End()).Line+1] = true
		}
	}
	return lines
}

func bareGo(pass *analysis.Pass, file *ast.File) []finding {
	owned := marked(pass, file, ownerMark)
	var out []finding
	ast.Inspect(file, func(n ast.Node) bool {
		if stmt, ok := n.(*ast.GoStmt); ok && !owned[pass.Fset.Position(stmt.Pos()).Line] {
			out = append(out, finding{stmt.Pos(), "bare go statement"})
		}
		return true
	})
	return out
}

// uses finds every mention of the named functions of pkg, called or passed on as a value.
func uses(pkg string, names ...string) func(*analysis.Pass, *ast.File) []finding {
	return func(pass *analysis.Pass, file *ast.File) []finding {
		var out []finding
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(names, selector.Sel.Name) {
				return true
			}
			left, ok := selector.X.(*ast.Ident)
			if !ok {
				return true
			}
			if name, ok := pass.TypesInfo.Uses[left].(*types.PkgName); ok && name.Imported().Path() == pkg {
				out = append(out, finding{selector.Pos(), fmt.Sprintf("%s.%s", pkg, selector.Sel.Name)})
			}
			return true
		})
		return out
	}
}

func imports(pkg string) func(*analysis.Pass, *ast.File) []finding {
	return func(_ *analysis.Pass, file *ast.File) []finding {
		var out []finding
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == pkg {
				out = append(out, finding{spec.Pos(), "import of " + pkg})
			}
		}
		return out
	}
}

func initFunction(_ *analysis.Pass, file *ast.File) []finding {
	var out []finding
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			out = append(out, finding{f.Pos(), "init function"})
		}
	}
	return out
}
