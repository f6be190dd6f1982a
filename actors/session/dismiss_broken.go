//go:build broken_session

package session

import "mcpd/telemetry"

// dismiss is broken on purpose: the actor of an ended session stays for ever.
func (m *Manager) dismiss(*Handle, telemetry.Closing) error { return nil }
