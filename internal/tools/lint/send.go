package main

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// otpPath is where processes and their addresses are.
const otpPath = module + "/supervisor/otp"

// lateMark begins the comment that says why a message is right whenever it is sent, and by whichever incarnation.
const lateMark = "late:"

// nobodysSend finds messages that are put into a mailbox, by a method Send(any) error, where the process that sends them is at hand: in a
// function that is given one, or a method of a struct that keeps one.
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
			if to, ok := call.Fun.(*ast.SelectorExpr); ok && isSend(pass, to) && !late[pass.Fset.Position(call.Pos()).Line] {
				out = append(out, finding{to.Sel.Pos(), fmt.Sprintf("%s.Send past %s", types.ExprString(to.X), known)})
			}
			return true
		})
	}
	return out
}

// isSend tells whether a selector is a method Send(any) error of something other than a process.
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

// processOf is the expression by which a function has a process, "" when it has none.
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

// processIn is the name of a parameter that is a process.
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
	return ok && named.Obj().Name() == "Process" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == otpPath
}
