package tasks

import (
	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
)

// Dialect is the form of tasks that one side uses.
type Dialect uint8

// The dialects.
const (
	None      Dialect = iota // no tasks: a call has one answer
	Core                     // 2025-11-25 §basic/utilities/tasks
	Extension                // SEP-2663
)

// ExtensionCapability is the path of the capability of the Extension dialect, on both sides.
const ExtensionCapability = "extensions." + protocol.ExtensionTasks

// DialectOf returns the dialect of a server with that revision and these capabilities.
func DialectOf(v protocol.Version, declared protocol.ServerCapabilities) Dialect {
	switch {
	case v.Has(protocol.Tasks) && declared.Has("tasks.requests.tools.call"):
		return Core
	case v.Has(protocol.TasksExtension) && declared.Has(ExtensionCapability):
		return Extension
	}
	return None
}

// Support is a tool's support for tasks (2025-11-25, execution.taskSupport).
type Support uint8

// The kinds of support.
const (
	Forbidden Support = iota // also if the tool states nothing
	Optional
	Required
)

// SupportOf reads the support from a tool in the result of tools/list.
func SupportOf(tool jsontext.Value) Support {
	switch text, _ := jsonedit.GetString(tool, "execution", "taskSupport"); text {
	case "optional":
		return Optional
	case "required":
		return Required
	}
	return Forbidden
}

// Plan is the way in which the host runs a tools/call.
type Plan uint8

// The plans.
const (
	Direct Plan = iota // pass the server's answer on, whatever it is
	Keep               // run the call as a task that the client can follow
	Await              // run the call as a task, and answer when the task is over
)

// Caller holds the client's declarations about tasks for one call.
type Caller struct {
	Version       protocol.Version
	RequestedTask bool // params.task is present, and the client was offered core tasks
	HasExtension  bool // the client declared the extension
}

// Decide returns the plan for a call to a tool. It returns a *protocol.Error if the call must be
// refused.
func Decide(c Caller, server Dialect, s Support) (Plan, error) {
	switch {
	case c.RequestedTask && (server == Extension || server == Core && s != Forbidden):
		return Keep, nil
	case c.RequestedTask: // 2025-11-25 §basic/utilities/tasks, "Tool-Level Negotiation"
		return Direct, &protocol.Error{
			Condition: protocol.ConditionMethodNotFound, Message: "this tool is not run as a task",
		}
	case server != Core || s == Forbidden:
		return Direct, nil
	case c.HasExtension:
		return Keep, nil
	case s == Optional:
		return Direct, nil
	case c.Version.Has(protocol.TasksExtension):
		return Direct, protocol.CapabilityRequired(ExtensionCapability)
	// The client could have asked for a task. The server itself tells it so.
	case c.Version.Has(protocol.Tasks):
		return Direct, nil
	}
	return Await, nil
}

// RequiresTasks reports whether a server refuses a call because the client did not declare the
// tasks extension.
func RequiresTasks(code int64, data jsontext.Value) bool {
	_, named := jsonedit.Get(data, "requiredCapabilities", "extensions", protocol.ExtensionTasks)
	return named && code == protocol.CodeMissingCapability
}
