// Package mcptest has the shared helpers of mcpd's tests: scripted peers, the real binary as a
// child process, and clients and servers of the official Go SDK. It does not know the subject of a
// test: it fails a test only when a peer did not do what its script says.
package mcptest
