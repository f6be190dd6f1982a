package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"mcpd/gateway/tenant"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func serverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "server", Short: "Restart, quarantine or release a server of a running host",
		Args:    cobra.NoArgs,
		Example: "  mcpd server restart acme/files\n  mcpd server release acme/files",
	}
	for _, verb := range []struct{ name, short string }{
		{
			"restart", "Restart a server's connections and reset its pauses; an operator's quarantine stays",
		},
		{"quarantine", "End a server's connections and start none until it is released, even after the " +
			"host restarts"},
		{"release", "Allow a server to start again that was given up or quarantined"},
	} {
		cmd.AddCommand(operateCommand(verb.name, verb.short))
	}
	return cmd
}

// operateCommand returns the command that performs one operation on a server.
func operateCommand(verb, short string) *cobra.Command {
	var flag string
	cmd := &cobra.Command{
		Use: verb + " [tenant/]server", Short: short, Args: cobra.ExactArgs(1),
		Example: "  mcpd server " + verb + " acme/files",
		RunE: func(cmd *cobra.Command, names []string) error {
			r, err := serverOf(names[0])
			if err != nil {
				return err
			}
			var answer mcpdv1.Server
			path := fmt.Sprintf("/admin/v1/servers/%s/%s/%s", url.PathEscape(r.Tenant),
				url.PathEscape(r.Server), verb)
			if err := adminPost(cmd.Context(), flag, path, &answer); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s/%s: %s\n", answer.GetTenant(), answer.GetName(),
				answer.GetState())
			return nil
		},
	}
	cmd.Flags().StringVar(&flag, "admin", "",
		"address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	return cmd
}

// serverOf parses "server" or "tenant/server".
func serverOf(name string) (tenant.Route, error) {
	r := tenant.Route{Tenant: tenant.Default, Server: name}
	if t, s, ok := strings.Cut(name, "/"); ok {
		r.Tenant, r.Server = t, s
	}
	if !tenant.ValidName(r.Tenant) || !tenant.ValidServer(r.Server) {
		return r, fmt.Errorf("%q is not a server: write server or tenant/server", name)
	}
	return r, nil
}
