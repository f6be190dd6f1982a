package catalog

import (
	"slices"

	"mcpd/actors/client"
	merge "mcpd/gateway/catalog"
	"mcpd/protocol"
	"mcpd/telemetry"
)

// noteOdd takes note of which items of a server the list of all servers repairs or leaves out, and
// tells an operator, once of the same ones.
func (c *Catalog) noteOdd(s *server, facts client.Facts, lists *client.Lists) {
	for _, k := range merge.Kinds() {
		odd := merge.Odd(k, facts.Version.Era() == protocol.Legacy, lists[k])
		for _, o := range odd {
			if !slices.Contains(s.odd[k], o) {
				c.o.Emit(telemetry.ItemsOdd{
					Where: telemetry.Where{
						Tenant: c.tenant.Name,
						Server: s.config.Name,
					},
					List: k.String(), Action: string(o.Action), Count: uint32(o.Count),
					First: telemetry.Clean(
						o.First,
						telemetry.MaxValue,
					),
					Reason: telemetry.Clean(o.Why, telemetry.MaxValue),
				})
			}
		}
		s.odd[k] = odd
	}
}
