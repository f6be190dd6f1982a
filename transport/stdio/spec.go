package stdio

import "time"

// Spec says which program to start and how.
type Spec struct {
	// Command is a path, or a name that is looked up in the PATH of the child. A relative path is
	// relative to Dir.
	Command string
	Args    []string
	// Dir is the working directory; empty is that of this process.
	Dir string
	// Env is set in the child's environment, over the inherited variables.
	Env map[string]string
	// Pass names variables of the host's environment that the child gets besides the inherited ones.
	// Unset names are left out.
	Pass []string
	// Files bounds the child's open files, as soft and hard limit. 0 is DefaultFiles. Linux only.
	Files uint64
	// FileSize bounds each file that the child writes, in bytes; a larger one ends the child with
	// SIGXFSZ. 0 is DefaultFileSize. Linux only.
	FileSize uint64
	// Memory, in bytes, and Processes bound the child and all that it starts together, where there are
	// control groups (see Spawner.Lacks). Threads count as processes. 0 is no bound.
	Memory, Processes uint64
	// Tenant names the tenant of the program: starts of different tenants take turns. Again says that
	// the program ran before, so that it is started before the tenant's new programs.
	Tenant  string
	Restart bool
	// Ladder sets the time-outs of ending the program.
	Ladder Ladder
	// Stderr is called with each line of standard error, without its end, in the order written; cut
	// says that the rest of the line was dropped. Stderr runs in the goroutine that empties the pipe,
	// so it must not wait, and line is valid during the call only. It may be nil.
	Stderr func(line []byte, cut bool)
}

// Ladder holds the time-outs of the steps that end a program (2025-11-25 §basic/lifecycle,
// Shutdown). Zero fields mean the default.
type Ladder struct {
	// EOF is the time from closing the program's input to SIGTERM. Default 2 s: enough for a
	// well-behaved server to save its state.
	EOF time.Duration
	// Term is the time from SIGTERM to SIGKILL. Default 3 s: a server that ignores the end of its
	// input gets one more chance.
	Term time.Duration
	// Kill is the time from SIGKILL to giving up. Default 1 s: the kernel needs as long only for a
	// process stuck in a device or file system.
	Kill time.Duration
}

func (l Ladder) orDefaults() Ladder {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{{&l.EOF, 2 * time.Second}, {&l.Term, 3 * time.Second}, {&l.Kill, time.Second}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}
