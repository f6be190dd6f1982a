package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcpd/gateway/auth"
)

func keyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "key", Short: "Make keys for clients"}
	var name string
	make := &cobra.Command{
		Use: "new", Short: "Make a key: print it once, with the line that lets it in", Args: cobra.NoArgs,
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
	make.Flags().StringVar(&name, "name", "client", "who the key stands for; appears in logs")
	cmd.AddCommand(make)
	return cmd
}
