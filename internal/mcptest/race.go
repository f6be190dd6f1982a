//go:build race

package mcptest

// raceEnabled: binaries are built like the test that runs them.
const raceEnabled = true
