package faults

// Entry is one row of the fault catalogue: everything that the host is to survive, whether a kind of fault does it or a test elsewhere.
type Entry struct{ ID, Is string }

// Catalogue is all of it, in its order.
var Catalogue = []Entry{
	{"F01", "an actor panics while it handles a message"},
	{"F02", "an actor panics when it starts"},
	{"F03", "a supervisor panics"},
	{"F04", "a goroutine that an actor started panics"},
	{"F05", "an actor hangs"},
	{"F06", "an actor spins"},
	{"F07", "a mailbox is flooded"},
	{"F08", "actors wait for one another in a ring"},
	{"F09", "messages between actors are dropped, doubled or reordered"},
	{"F10", "hundreds of servers crash at once"},
	{"F11", "a supervisor's budget of restarts runs out"},
	{"F12", "memory runs short"},
	{"F13", "goroutines and timers explode"},
	{"F14", "a payload tries to overflow the stack"},

	{"F15", "an idle child process is killed"},
	{"F16", "a child process is killed with calls in flight"},
	{"F17", "a child process does not start"},
	{"F18", "a child process is stopped"},
	{"F19", "a launcher leaves processes behind"},
	{"F20", "a child process ignores the end of its input and SIGTERM"},
	{"F21", "a child process floods its standard output"},
	{"F22", "a child process writes garbage to its standard output"},
	{"F23", "a child process writes giant lines"},
	{"F24", "a child process floods its standard error"},
	{"F25", "a child process closes its standard output or input and lives on"},
	{"F26", "a child process answers a byte at a time"},
	{"F27", "a child process takes all processes, memory, descriptors or disk"},
	{"F28", "the number of a killed process is given to another"},

	{"F29", "a server never answers"},
	{"F30", "a server answers late, twice, or what nobody asked"},
	{"F31", "a server answers out of order"},
	{"F32", "a server confuses the types of ids"},
	{"F33", "a server sends malformed JSON"},
	{"F34", "a server sends deep or wide JSON"},
	{"F35", "a server floods progress"},
	{"F36", "a server announces changes all the time"},
	{"F37", "a server's lists have no end, or invalid items"},
	{"F38", "a server floods its clients with requests"},
	{"F39", "a server is another one after its restart"},
	{"F40", "a server behind a URL fails in HTTP's ways"},

	{"F41", "a client reads slowly"},
	{"F42", "a client's connection is half open"},
	{"F43", "clients send headers and bodies slowly, or hoard connections"},
	{"F44", "clients come and go, or all return at once"},
	{"F45", "clients abuse HTTP/2"},
	{"F46", "requests in flight have the same id"},
	{"F47", "a client vanishes during its call"},
	{"F48", "a client resumes a stream that is not its own"},
	{"F49", "cancellations race with answers"},
	{"F50", "clients abuse batches"},

	{"F51", "descriptors run out"},
	{"F52", "the disk is full, read-only or slow"},
	{"F53", "files of state are corrupt"},
	{"F54", "the clock jumps"},
	{"F55", "names of servers do not resolve"},
	{"F56", "a shared store is slow or down"},
	{"F57", "the keys of an issuer of tokens cannot be had"},
	{"F58", "a sink of telemetry is blocked"},

	{"F59", "the configuration is reloaded all the time"},
	{"F60", "the host is told to stop under load"},
	{"F61", "the host is killed"},
	{"F62", "the host is stopped and goes on"},
	{"F63", "the host is replaced by another version"},
	{"F64", "the host crashes again and again"},
	{"F65", "a node of a cluster is killed"},
	{"F66", "a cluster is partitioned"},
	{"F67", "a cluster is upgraded node by node"},
	{"F68", "a tenant takes far more than its share"},
	{"F69", "everything at once"},
}

// InCatalogue returns the row of that id.
func InCatalogue(id string) (Entry, bool) {
	for _, e := range Catalogue {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}
