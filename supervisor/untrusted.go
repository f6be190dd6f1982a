package supervisor

import (
	"iter"

	"mcpd/gateway/config"
	"mcpd/telemetry"
	"mcpd/transport/streamable"
)

// Untrusted yields the servers whose file of certificates (`ca`) cannot be used, and why. Their
// connections cannot be made until it can.
func Untrusted(c *config.Config) iter.Seq2[telemetry.Where, error] {
	return func(yield func(telemetry.Where, error) bool) {
		for _, t := range c.Tenants {
			for _, s := range t.Servers {
				file := s.CA.Reveal()
				pem, err := readCA(file)
				if err == nil {
					_, err = rootsWith(pem)
				}
				at := telemetry.Where{Tenant: t.Name, Server: s.Name}
				if err != nil && !yield(at, &streamable.CAError{File: file, Err: err}) {
					return
				}
			}
		}
	}
}
