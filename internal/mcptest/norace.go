//go:build !race

package mcptest

// Raced says that the race detector is in this test, and in the binaries, which are built like the test that runs them.
const Raced = false
