//go:build race

package mcptest

// Raced says that the race detector is in this test, and in the host that it runs.
const Raced = true
