package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"mcpd/gateway/ladder"
	"mcpd/gateway/tenant"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func tenantCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tenant", Short: "Restart, quarantine or release a tenant of a running host",
		Args:    cobra.NoArgs,
		Example: "  mcpd tenant restart acme\n  mcpd tenant release acme",
	}
	for _, verb := range []struct{ name, short string }{
		{"restart", "Restart a tenant and forget its failures; an operator's quarantine stays"},
		{"quarantine", "Stop a tenant and do not start it until it is released, even after the host " +
			"restarts"},
		{"release", "Start a paused or quarantined tenant now"},
	} {
		cmd.AddCommand(operateTenantCommand(verb.name, verb.short))
	}
	return cmd
}

// transitionTimeout bounds how long a command waits for a tenant to stop or to start. A tenant that
// hangs is stopped nevertheless, within the time-outs of its actors.
const transitionTimeout = 5 * time.Second

// inTransition reports whether a tenant is stopping or starting.
func inTransition(state string) bool {
	return state == string(ladder.Stopping) || state == string(ladder.Starting)
}

// settled returns the state of a tenant once the tenant is no longer stopping or starting, or
// after transitionTimeout.
func settled(ctx context.Context, flag string, t *mcpdv1.Tenant) (state string) {
	state = t.GetState()
	ctx, cancel := context.WithTimeout(ctx, transitionTimeout)
	defer cancel()
	for inTransition(state) {
		select {
		case <-ctx.Done():
			return state
		case <-time.After(transitionTimeout / 100):
		}
		var all mcpdv1.TenantList
		if adminGetMessage(ctx, flag, "/admin/v1/tenants", &all) != nil {
			return state
		}
		for _, now := range all.GetTenants() {
			if now.GetName() == t.GetName() {
				state = now.GetState()
			}
		}
	}
	return state
}

// operateTenantCommand returns the command that performs one operation on a tenant.
func operateTenantCommand(verb, short string) *cobra.Command {
	var flag string
	cmd := &cobra.Command{
		Use: verb + " tenant", Short: short, Args: cobra.ExactArgs(1),
		Example: "  mcpd tenant " + verb + " acme",
		RunE: func(cmd *cobra.Command, names []string) error {
			if !tenant.ValidName(names[0]) {
				return fmt.Errorf("%q is not a tenant: write the name that the configuration uses", names[0])
			}
			var answer mcpdv1.Tenant
			if err := adminPost(cmd.Context(), flag,
				fmt.Sprintf("/admin/v1/tenants/%s/%s", url.PathEscape(names[0]), verb), &answer); err != nil {
				return err
			}
			state := settled(cmd.Context(), flag, &answer)
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", answer.GetName(), state)
			if inTransition(state) {
				fmt.Fprintln(cmd.ErrOrStderr(),
					"The host continues in the background: `mcpd tree` shows when it is done.")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&flag, "admin", "",
		"address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	return cmd
}
