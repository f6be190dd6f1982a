package version

// Origin is the tenant to which a crash on the message is charged.
func (r NegotiateRequest) Origin() string { return r.Tenant }
