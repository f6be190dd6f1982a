package tenancy

// Origin is the tenant to which a crash on the message is charged.
func (c Charged) Origin() string { return c.Tenant }
func (s Started) Origin() string { return s.Tenant }
func (p passed) Origin() string  { return p.tenant }
func (s stopped) Origin() string { return s.tenant }
func (s started) Origin() string { return s.tenant }
