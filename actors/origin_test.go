package actors_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared lists the packages of the rows below core.
var shared = []string{
	"capability", "configuration", "memory", "process", "session", "storage", "tenancy", "version",
}

// nobody lists every message of a shared row that belongs to no tenant, with the reason. A crash on
// it is charged to the row. All other messages name their tenant: see otp.Attributed.
var nobody = map[string]string{
	"capability.Query":       "it asks for what all revisions know",
	"capability.Notify":      "the host's own, of what all tenants share",
	"capability.Register":    "the host's own, of what all tenants share",
	"capability.Experiments": "it asks for what all tenants share",

	"configuration.Reload":  "an operator's",
	"configuration.loaded":  "of an operator's reload",
	"configuration.late":    "of an operator's reload",
	"configuration.settled": "of an operator's reload",
	"configuration.told":    "of an operator's reload",
	"configuration.written": "of an operator's reload",
	"configuration.pause":   "of an operator's reload",
	"configuration.again":   "of an operator's reload",
	"configuration.look":    "of an operator's reload",
	"configuration.ended":   "of an operator's reload",
	"configuration.deleted": "of an operator's reload",

	"memory.sample": "it looks at the memory of all",

	"process.List": "it asks for what all tenants have",

	"session.ends":        "of several tenants; each session is ended on behalf of its own",
	"session.endHeld":     "of several tenants, as session.ends",
	"session.Sweep":       "of several tenants; each session is looked at on behalf of its own",
	"session.sweep":       "of several tenants; each session is looked at on behalf of its own",
	"session.Reload":      "of several tenants; each session is looked at on behalf of its own",
	"session.endUnserved": "of several tenants; each session is looked at on behalf of its own",

	"storage.Collect": "it only says that there is something",
	"storage.write": "of several tenants; what is collected is kept on behalf of its own, and the " +
		"disk knows none",
	"storage.flush":  "the disk's",
	"storage.verify": "the disk's",

	"tenancy.Operate":      "an operator's",
	"tenancy.written":      "an operator's",
	"tenancy.Reconfigured": "of several tenants; each is looked at on its own behalf",
	"tenancy.look":         "of several tenants; each is looked at on its own behalf",

	"version.Supported":  "it asks for what all tenants share",
	"version.Features":   "it asks for what all tenants share",
	"version.Supports":   "it asks for what all tenants share",
	"version.Negotiated": "it asks for what all tenants share",
}

// A crash of a shared row on a message is charged to the tenant that caused the message. So every
// message that a shared row receives names its tenant, or is listed with the reason why it has
// none.
func TestEveryMessageOfASharedRowHasAnOrigin(t *testing.T) {
	seen := map[string]bool{}
	for _, pkg := range shared {
		files := parsed(t, pkg)
		attributed, calls, embeds := origins(files)
		for _, name := range cases(files) {
			full := pkg + "." + name
			seen[full] = true
			req := name
			if of, is := calls[name]; is {
				req = of
			}
			has := attributed[req] || slices.ContainsFunc(embeds[req], func(e string) bool {
				return attributed[e]
			})
			switch _, listed := nobody[full]; {
			case has && listed:
				t.Errorf("%s names its tenant and is listed as nobody's", full)
			case !has && !listed:
				t.Errorf("%s does not say whose it is", full)
			}
		}
	}
	for name := range nobody {
		if !seen[name] {
			t.Errorf("%s is listed and nobody receives it", name)
		}
	}
}

// noTenant lists the functions that store records, or start a goroutine of a shared row, for no
// tenant in particular.
var noTenant = map[string]string{
	"actors/configuration/applied.go write": "which configuration applies",
	"actors/configuration/manager.go begin": "an operator's reload",
	"actors/memory/manager.go collect":      "the memory of all",
	"actors/tenancy/manager.go write": "an operator's, who is to be heard whatever the tenant " +
		"does",
	"actors/storage/storage.go Receive": "the disk's",
}

// Stored records and goroutines of shared rows name their tenant too.
func TestStoredChangesAndGoroutinesHaveAnOrigin(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		path = filepath.ToSlash(path)
		if !strings.HasPrefix(path, "../actors/") && !strings.HasPrefix(path, "../supervisor/") {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				label := ""
				switch n := n.(type) {
				case *ast.CompositeLit:
					if name := text(n.Type); name == "storage.Keep" || name == "storage.PutRequest" ||
						f.Name.Name == "storage" && (name == "Keep" || name == "PutRequest") {
						if !hasKey(n, "Tenant") && !assigned(fn, "Tenant") {
							label = name
						}
					}
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 2 &&
						slices.Contains(shared, f.Name.Name) {
						label = "Go"
					}
				}
				if place := strings.TrimPrefix(path, "../") + " " + fn.Name.Name; label != "" {
					used[place] = true
					if _, listed := noTenant[place]; !listed {
						t.Errorf("%s: %s names no tenant, in %s", set.Position(n.Pos()), label, place)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range noTenant {
		if !used[place] {
			t.Errorf("%s is listed and needs not be", place)
		}
	}
}

// parsed returns the files of a package, without tests.
func parsed(t *testing.T, pkg string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(pkg + "/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", pkg, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// origins returns the types that have an Origin, the request types of the named calls, and the
// types that others embed.
func origins(files []*ast.File) (attributed map[string]bool, calls map[string]string,
	embeds map[string][]string) {
	attributed, calls, embeds = map[string]bool{}, map[string]string{}, map[string][]string{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "Origin" {
					attributed[text(n.Recv.List[0].Type)] = true
				}
			case *ast.TypeSpec:
				if x, ok := n.Type.(*ast.IndexListExpr); ok && text(x.X) == "otp.Call" {
					calls[n.Name.Name] = text(x.Indices[0])
				}
				if s, ok := n.Type.(*ast.StructType); ok {
					for _, field := range s.Fields.List {
						if len(field.Names) == 0 {
							embeds[n.Name.Name] = append(embeds[n.Name.Name], text(field.Type))
						}
					}
				}
			}
			return true
		})
	}
	return attributed, calls, embeds
}

// cases returns the types in type switches over a message called msg, or over the name that it has
// there. Types of package otp are left out, because it gives them their origins.
func cases(files []*ast.File) (names []string) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSwitchStmt); ok && over(s) == "msg" {
				for _, c := range s.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						if name := text(e); !strings.HasPrefix(name, "otp.") {
							names = append(names, name)
						}
					}
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// over returns the variable of a type switch, whether or not its cases rename it.
func over(s *ast.TypeSwitchStmt) string {
	if x, ok := s.Assign.(*ast.ExprStmt); ok {
		return text(x.X.(*ast.TypeAssertExpr).X)
	}
	return subject(s)
}

// text returns a type as written, without its star.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return text(e.X)
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

func hasKey(l *ast.CompositeLit, key string) bool {
	return slices.ContainsFunc(l.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		return ok && text(kv.Key) == key
	})
}

// assigned reports whether a function assigns a field of that name.
func assigned(fn *ast.FuncDecl, field string) (is bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, to := range a.Lhs {
				if s, ok := to.(*ast.SelectorExpr); ok && s.Sel.Name == field {
					is = true
				}
			}
		}
		return true
	})
	return is
}
