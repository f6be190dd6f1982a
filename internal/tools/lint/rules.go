package main

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// rule is one habit of the house that a machine can see.
type rule struct {
	name string
	in   []string // folders it holds in, from the project's root; "" is all
	not  []string // folders within those where it does not
	find func(*analysis.Pass, *ast.File) []finding
	do   string // what to do instead, completing "…: "
}

// rules is the table. None of them looks at test files or generated code: a
// test may watch the clock, and nobody edits what a generator wrote.
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
		// A socket's deadline is the kernel's time, a command talks to people,
		// and what makes load or waits for a test measures the real clock.
		not:  []string{"internal/clock", "cmd", "transport", "bench", "chaos", "internal/load", "internal/mcptest"},
		find: uses("time", "Now", "Since", "Until", "After", "Sleep", "Tick"),
		do: "time must be given, so that tests and faults can change it: take now as a parameter, " +
			"or a clock.Clock in a shell; a wait is a timer of the actor",
	},
	{
		name: "strictjson",
		in:   []string{"protocol", "actors", "transport", "gateway"},
		find: imports("encoding/json"),
		do: "it accepts duplicate keys and changes numbers: use protocol/jsonrpc, protocol/splice " +
			"or github.com/go-json-experiment/json",
	},
	{
		name: "noinit",
		in:   []string{""},
		not:  []string{"transport/stdio/guard"}, // it takes over before the rest of the program is made
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
		do: "an incarnation that was stuck and replaced must not speak any more: send by way of its Process, " +
			"which is at hand here, or say why it is right even then in a comment above that begins with \"late:\"",
	},
	{
		name: "emitevents",
		in:   []string{"actors"},
		find: imports("log/slog"),
		do:   "actors emit events and telemetry decides what is a log line: add a struct to telemetry/events.go",
	},
}

// module is the path that the folders of the table stand under.
const module = "mcpd"

// covers tells whether the rule holds in the package of this import path.
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
