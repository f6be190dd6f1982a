package supervisor

import (
	"iter"

	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/telemetry"
	"mcpd/transport/stdio"
)

// Unlimited yields the servers whose memory or processes would not be limited as configured if this
// process became a host, and why.
func Unlimited(c *config.Config) iter.Seq2[telemetry.Where, error] {
	return unlimited(c, stdio.Lacks)
}

func unlimited(c *config.Config, lacks func(stdio.Spec) error) iter.Seq2[telemetry.Where, error] {
	return func(yield func(telemetry.Where, error) bool) {
		for _, t := range c.Tenants {
			for _, s := range t.Servers {
				if err := lacks(stdio.Spec{Memory: uint64(s.Memory),
					Processes: uint64(s.Processes)}); err != nil && s.Link() == tenant.Stdio {
					if !yield(telemetry.Where{Tenant: t.Name, Server: s.Name}, err) {
						return
					}
				}
			}
		}
	}
}

// warn reports doubts about a configuration, and servers that are not limited as it says.
func (h *host) warn(c *config.Config) {
	for _, warning := range c.Warnings {
		h.recorder.Emit(telemetry.ConfigDoubted{Reason: warning.String()})
	}
	for at, cause := range unlimited(c, h.spawner.Lacks) {
		h.recorder.Emit(telemetry.UpstreamUnlimited{Where: at, Reason: cause.Error()})
	}
}
