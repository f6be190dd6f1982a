package storage

// Origin is the tenant to which a crash on the message is charged.
func (r PutRequest) Origin() string { return r.Tenant }
func (k *Keep) Origin() string      { return k.Tenant }
