//go:build !broken_session

package session

import "mcpd/telemetry"

// dismiss tells the actor of an ended session to end. A build with the tag broken_session omits
// this, and experiments must detect the leak.
func (m *Manager) dismiss(h *Handle, reason telemetry.Closing) error {
	return m.p.Send(h, &Expired{Reason: reason})
}
