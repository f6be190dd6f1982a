package stdio

import "time"

// Spec says which program to start and how.
type Spec struct {
	// Command is a path, or a name that is looked for in the PATH the child will have. A relative path starts at Dir.
	Command string
	Args    []string
	// Dir is the working directory; empty is ours.
	Dir string
	// Env is set in the child's environment, over what it inherits.
	Env map[string]string
	// Pass names variables of our environment that the child gets besides the inherited ones. Names that we do not have are left out.
	Pass []string
	// Files bounds its open files, soft and hard. 0 is DefaultFiles. Linux only.
	Files uint64
	// FileSize bounds the files that it writes, in bytes; more ends it with SIGXFSZ. 0 is DefaultFileSize. Linux only.
	FileSize uint64
	// Memory, in bytes, and Processes bound what it and all that it starts use together, where there are control groups (see
	// Spawner.Lacks). Threads count as processes. 0 is no bound.
	Memory, Processes uint64
	// For is whose program it is: starts of different ones take turns. Again says that it ran before and is missed, so that it is started
	// before programs that are new.
	For   string
	Again bool
	// Ladder is how it is ended.
	Ladder Ladder
	// Stderr is called with each line of standard error, without its end, in the order written; cut says that the rest of the line was
	// dropped. It runs in the goroutine that empties the pipe, so it must not wait, and line is valid during the call only. It may be nil.
	Stderr func(line []byte, cut bool)
}

// Ladder is how long each step of ending a program may take (2025-11-25 §basic/lifecycle, Shutdown). Zero fields mean the default.
type Ladder struct {
	// EOF is from closing its input to SIGTERM. Default 2 s: what a well-behaved server needs to save its state.
	EOF time.Duration
	// Term is from SIGTERM to SIGKILL. Default 3 s: a server that ignores the end of its input gets one more chance.
	Term time.Duration
	// Kill is from SIGKILL to giving up. Default 1 s: the kernel only needs that long for a process stuck in a device or file system.
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
