//go:build !broken_session

package session

import "mcpd/telemetry"

// dismiss tells the actor of a session that has ended to end too. With the tag broken_session it is not told:
// experiments must find that out.
func (m *Manager) dismiss(h *Handle, reason telemetry.Closing) error {
	return m.p.Send(h, &Expired{Reason: reason})
}
