// Package session is the lifecycle of one legacy connection, 2024-11-05 to 2025-11-25 §basic/lifecycle, as two tables of phases: one for
// each side. Which phase admits which message, what ends the handshake, and when it has taken too long is decided here.
//
// It knows no clock, no transport and no peer: it is told the time and what happened, and returns what to do. Modern requests stand
// alone and have no lifecycle.
package session
