package supervisor

import (
	"mcpd/actors/catalog"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
)

// withServers adds the knowledge of the catalogues to a snapshot. Each configured server gets a row
// with its state under its tenant's client_sup, even if it has no supervisor now because it
// exceeded its intensity.
func withServers(tree otp.Node) otp.Node {
	for i := range tree.Children {
		if tree.Children[i].ID != "tenants" {
			continue
		}
		for j := range tree.Children[i].Children {
			tenant := &tree.Children[i].Children[j]
			if status, ok := catalogOf(*tenant); ok {
				describeServers(tenant, status)
			}
		}
	}
	return tree
}

func catalogOf(tenant otp.Node) (catalog.Status, bool) {
	for _, row := range tenant.Children {
		if status, ok := row.Extra.(catalog.Status); ok {
			return status, true
		}
	}
	return catalog.Status{}, false
}

// describeServers puts each server's record on its row. It may change the snapshot, which was made
// for this call.
func describeServers(tenant *otp.Node, status catalog.Status) {
	for i := range tenant.Children {
		pool := &tenant.Children[i]
		if pool.ID != "client_sup" {
			continue
		}
		rows := map[string]int{}
		for k, row := range pool.Children {
			rows[row.ID] = k
		}
		for _, r := range status.Records() {
			extra := telemetry.UpstreamStatus{
				Tenant: tenant.ID, Server: r.Server, Link: r.Link.String(), State: string(r.State),
				Ending: r.Ending, Retry: r.Retry, Revision: r.Version, Stale: r.Stale, ItemIssues: r.Odd,
			}
			if k, ok := rows[r.Server]; ok {
				pool.Children[k].Extra = extra
				continue
			}
			pool.Children = append(pool.Children, otp.Node{
				ID: r.Server, Path: pool.Path + "/" + r.Server, Label: telemetry.UpstreamLabel,
				Type: otp.SupervisorType, Restart: otp.Transient,
				Status: otp.Stopped, Since: r.Since, Extra: extra,
			})
		}
	}
}
