package main

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// rule is one convention that a program can check.
type rule struct {
	name string
	in   []string // folders in which it applies, from the project's root; "" means all
	not  []string // folders within those in which it does not apply
	find func(*analysis.Pass, *ast.File) []finding
	do   string // advice, printed after the finding and a colon
}

// rules is the table of rules. No rule looks at test files or generated code. A test may read the
// real clock, and nobody edits generated code.
var rules = []rule{
	{
		name: "owngo",
		in:   []string{"actors", "supervisor", "protocol", "gateway"},
		find: bareGo,
		do: "a goroutine needs an owner that waits for it: in an actor use Process.Go, " +
			"elsewhere say who waits in a comment above that begins with \"owner:\"",
	},
	{
		name: "passclock",
		in:   []string{""},
		// A socket's deadline is in the kernel's time, and commands talk to people. The packages that
		// generate load or wait in tests measure the real clock.
		not: []string{
			"internal/clock", "cmd", "transport", "bench", "chaos", "internal/load", "internal/mcptest",
		},
		find: uses("time", "Now", "Since", "Until", "After", "Sleep", "Tick"),
		do: "time must be given, so that tests and faults can change it: take now as a parameter, " +
			"or a clock.Clock in a shell; a wait is a timer of the actor",
	},
	{
		name: "strictjson",
		in:   []string{"protocol", "actors", "transport", "gateway"},
		find: imports("encoding/json"),
		do: "it accepts duplicate keys and changes numbers: use protocol/jsonrpc, protocol/jsonedit " +
			"or github.com/go-json-experiment/json",
	},
	{
		name: "noinit",
		in:   []string{""},
		not:  []string{"transport/stdio/guard"}, // its init must run before the rest of the program
		find: initFunction,
		do:   "order and membership become invisible at the call site: list the thing where it is used",
	},
	{
		name: "onespawn",
		in:   []string{""},
		not:  []string{"transport/stdio", "cmd", "bench", "chaos", "internal/load", "internal/mcptest"},
		find: uses("os/exec", "Command", "CommandContext"),
		do:   "child processes are limited, reaped and swept in one place: spawn through transport/stdio",
	},
	{
		name: "ownsend",
		in:   []string{"actors"},
		find: nobodysSend,
		do: "an incarnation that was stuck and replaced must not speak any more: send by way of its " +
			"Process, " +
			"which is at hand here, or say why it is right even then in a comment above that begins with " +
			"\"late:\"",
	},
	{
		name: "emitevents",
		in:   []string{"actors"},
		find: imports("log/slog"),
		do: "actors emit events and telemetry decides what is a log line: add a struct to " +
			"telemetry/events.go",
	},
}

// module is the module path, which the import paths of the folders in the table begin with.
const module = "mcpd"

// covers reports whether the rule applies to the package with this import path.
func (r rule) covers(path string) bool {
	folder := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(path, "_test"), module), "/")
	return anyHolds(r.in, folder) && !anyHolds(r.not, folder)
}

func anyHolds(list []string, folder string) bool {
	for _, l := range list {
		if l == "" || folder == l || strings.HasPrefix(folder, l+"/") {
			return true
		}
	}
	return false
}
