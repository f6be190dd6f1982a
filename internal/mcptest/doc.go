// Package mcptest holds what tests of mcpd share: scripted peers, the real binary as a child process, and clients and servers made
// with the official Go SDK. It does not know what is tested: it fails a test only when a peer did not do what its script says.
package mcptest
