package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcpd/gateway/auth"
)

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Create keys for clients",
		Example: "  mcpd key new --name alice"}
	var name string
	make := &cobra.Command{
		Use: "new", Short: "Create a key, and print it once with its line for the configuration",
		Args:    cobra.NoArgs,
		Example: "  mcpd key new --name alice",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := auth.CheckName(name); err != nil {
				return fmt.Errorf("--name %q: %w", name, err)
			}
			key, hash := auth.NewKey()
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "key, shown only now:\n  %s\n", key)
			fmt.Fprintf(out, "under the tenant's auth.keys:\n  - {name: %s, sha256: %q}\n", name, hash)
			return nil
		},
	}
	make.Flags().StringVar(&name, "name", "client",
		"name of the client that uses the key; appears in logs")
	cmd.AddCommand(make)
	return cmd
}
