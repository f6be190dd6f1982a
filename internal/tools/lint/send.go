package main

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// otpPath is the import path of the package of processes and their addresses.
const otpPath = module + "/supervisor/otp"

// lateMark begins the comment that says why a message is right at any time and from any
// incarnation.
const lateMark = "late:"

// nobodysSend finds calls of a method Send(any) error, which put a message into a mailbox, where
// the sending process is at hand. A process is at hand in a function with a process as a
// parameter, and in a method of a struct with a process as a field.
func nobodysSend(pass *analysis.Pass, file *ast.File) []finding {
	late := marked(pass, file, lateMark)
	var out []finding
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		known := processOf(pass, f)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.FuncLit); ok && known == "" {
				known = processIn(pass, lit.Type.Params)
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || known == "" {
				return true
			}
			if to, ok := call.Fun.(*ast.SelectorExpr); ok && isSend(pass, to) &&
				!late[pass.Fset.Position(call.Pos()).Line] {
				out = append(out, finding{
					to.Sel.Pos(), fmt.Sprintf("%s.Send past %s", types.ExprString(to.X), known),
				})
			}
			return true
		})
	}
	return out
}

// isSend reports whether a selector is a method Send(any) error of a type other than Process.
func isSend(pass *analysis.Pass, to *ast.SelectorExpr) bool {
	method := pass.TypesInfo.Selections[to]
	if method == nil || to.Sel.Name != "Send" || isProcess(method.Recv()) {
		return false
	}
	s, ok := method.Type().(*types.Signature)
	if !ok || s.Params().Len() != 1 || s.Results().Len() != 1 {
		return false
	}
	in, ok := s.Params().At(0).Type().Underlying().(*types.Interface)
	return ok && in.Empty()
}

// processOf returns the expression by which a function has a process, or "" if it has none.
func processOf(pass *analysis.Pass, f *ast.FuncDecl) string {
	if p := processIn(pass, f.Type.Params); p != "" {
		return p
	}
	if f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
		return ""
	}
	receiver := f.Recv.List[0].Names[0]
	if receiver.Name == "_" {
		return ""
	}
	of := pass.TypesInfo.Defs[receiver].Type()
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	fields, ok := of.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for i := range fields.NumFields() {
		if isProcess(fields.Field(i).Type()) {
			return receiver.Name + "." + fields.Field(i).Name()
		}
	}
	return ""
}

// processIn returns the name of the first parameter that is a process, or "" if none is.
func processIn(pass *analysis.Pass, params *ast.FieldList) string {
	for _, field := range params.List {
		for _, name := range field.Names {
			if name.Name != "_" && isProcess(pass.TypesInfo.Defs[name].Type()) {
				return name.Name
			}
		}
	}
	return ""
}

func isProcess(t types.Type) bool {
	pointer, ok := t.(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := pointer.Elem().(*types.Named)
	return ok && named.Obj().Name() == "Process" && named.Obj().Pkg() != nil &&
		named.Obj().Pkg().Path() == otpPath
}
