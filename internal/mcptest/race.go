//go:build race

package mcptest

// RaceEnabled says that the race detector is in this test, and in the host that it runs.
const RaceEnabled = true
