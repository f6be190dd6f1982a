// Package session implements the lifecycle of one legacy connection (2024-11-05 to 2025-11-25
// §basic/lifecycle). It is a table of phases for each side. The package decides which phase admits
// which message, what ends the handshake, and when the handshake times out.
//
// The package knows no clock, transport or peer. Its caller tells it the time and the events, and
// carries out the effects that it returns. Modern requests are stateless and have no lifecycle.
package session
