package request

// crowded reports whether a principal has as many exchanges in flight as it may. They are counted from when that is first bounded.
func (m *Manager) crowded(x *Exchange) bool {
	most := m.o.OfPrincipal()
	switch {
	case most == 0:
		m.each = nil
		return false
	case x.Principal == "" || x.Uncounted:
		return false
	case m.each == nil:
		m.each = map[string]int{}
		for r := range m.table.pending() {
			m.count(r.Owner, 1)
		}
	}
	return m.each[x.Principal] >= most
}

// count counts an exchange, or one less.
func (m *Manager) count(x *Exchange, more int) {
	if m.each == nil || x.Principal == "" || x.Uncounted {
		return
	}
	if m.each[x.Principal] += more; m.each[x.Principal] == 0 {
		delete(m.each, x.Principal)
	}
}
