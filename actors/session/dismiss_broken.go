//go:build broken_session

package session

import "mcpd/telemetry"

// dismiss is broken on purpose: the actor of a session that has ended stays for ever.
func (m *Manager) dismiss(*Handle, telemetry.Closing) error { return nil }
