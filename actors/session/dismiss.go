//go:build !broken_session

package session

// dismiss tells the actor of a session that has ended to end too. With the tag broken_session it is not told:
// experiments must find that out.
func (m *Manager) dismiss(h *Handle, reason string) error { return m.p.Send(h, &Expired{Reason: reason}) }
