package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"mcpd/gateway/tenant"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func tenantCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "tenant", Short: "Restart, quarantine or release a tenant of a running host", Args: cobra.NoArgs}
	for _, verb := range []struct{ name, short string }{
		{"restart", "Stop a tenant and start it again; its ends are forgotten, what an operator quarantined is not"},
		{"quarantine", "Stop a tenant and do not start it until it is released, also in a host that is started anew"},
		{"release", "Start a tenant now that is paused or quarantined"},
	} {
		cmd.AddCommand(operateTenantCommand(verb.name, verb.short))
	}
	return cmd
}

// operateTenantCommand is the command that does one thing to a tenant.
func operateTenantCommand(verb, short string) *cobra.Command {
	var flag string
	cmd := &cobra.Command{
		Use: verb + " tenant", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if !tenant.ValidName(names[0]) {
				return fmt.Errorf("%q is no tenant: write its name in the configuration", names[0])
			}
			var answer mcpdv1.Tenant
			if err := adminPost(cmd.Context(), flag, fmt.Sprintf("/admin/v1/tenants/%s/%s", url.PathEscape(names[0]), verb), &answer); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", answer.GetName(), answer.GetState())
			return nil
		},
	}
	cmd.Flags().StringVar(&flag, "admin", "", "address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	return cmd
}
