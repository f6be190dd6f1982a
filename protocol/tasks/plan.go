package tasks

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/splice"
)

// Dialect is how one side speaks of tasks.
type Dialect uint8

// The dialects.
const (
	None      Dialect = iota // not at all: a call has one answer
	Core                     // 2025-11-25 §basic/utilities/tasks
	Extension                // SEP-2663
)

// Extended is the capability of the second dialect, on both sides.
const Extended = "extensions." + protocol.ExtensionTasks

// DialectOf is what a server of that revision speaks that declared this.
func DialectOf(v protocol.Version, declared protocol.ServerCapabilities) Dialect {
	switch {
	case v.Has(protocol.Tasks) && declared.Has("tasks.requests.tools.call"):
		return Core
	case v.Has(protocol.TasksExtension) && declared.Has(Extended):
		return Extension
	}
	return None
}

// Support is what a tool says of tasks (2025-11-25, execution.taskSupport).
type Support uint8

// The kinds of support.
const (
	Forbidden Support = iota // or nothing said
	Optional
	Required
)

// SupportOf reads it from a tool as tools/list shows it.
func SupportOf(tool jsontext.Value) Support {
	switch text, _ := splice.GetString(tool, "execution", "taskSupport"); text {
	case "optional":
		return Optional
	case "required":
		return Required
	}
	return Forbidden
}

// Plan is what becomes of a tools/call.
type Plan uint8

// The plans.
const (
	Direct Plan = iota // the server answers it, whatever it answers
	Keep               // the host makes a task of it, which the client can follow
	Await              // the host makes a task of it, and answers when that is over
)

// Caller is what a client says of tasks with a call.
type Caller struct {
	Version protocol.Version
	Asked   bool // params.task is there, and the client was offered tasks of the core
	Follows bool // it declared the extension
}

// Decide says what becomes of a call to a tool. An error refuses it.
func Decide(c Caller, server Dialect, s Support) (Plan, error) {
	switch {
	case c.Asked && (server == Extension || server == Core && s != Forbidden):
		return Keep, nil
	case c.Asked: // 2025-11-25 §basic/utilities/tasks, "Tool-Level Negotiation"
		return Direct, &protocol.Error{Condition: protocol.ConditionMethodNotFound, Message: "this tool is not run as a task"}
	case server != Core || s == Forbidden:
		return Direct, nil
	case c.Follows:
		return Keep, nil
	case s == Optional:
		return Direct, nil
	case c.Version.Has(protocol.TasksExtension):
		return Direct, protocol.CapabilityRequired(Extended)
	case c.Version.Has(protocol.Tasks): // it could have asked for a task, and the server tells it so
		return Direct, nil
	}
	return Await, nil
}

// Insists reports whether a server refuses a call because the client cannot follow tasks.
func Insists(code int64, data jsontext.Value) bool {
	_, named := splice.Get(data, "requiredCapabilities", "extensions", protocol.ExtensionTasks)
	return named && code == protocol.CodeMissingCapability
}
