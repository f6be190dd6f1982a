package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcpd/gateway/config"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check, print or describe the configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "check [FILE]", Short: "Say what is wrong with a configuration, everything at once", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				c, source, err := load(first(args), nil)
				if err != nil {
					return err
				}
				servers := 0
				for _, t := range c.Tenants {
					servers += len(t.Servers)
				}
				for _, i := range c.Imported {
					fmt.Fprintf(cmd.OutOrStdout(), "tenant %s: %q is called %s here\n", i.Tenant, i.From, i.Name)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %s, %s\n", source,
					count(uint32(len(c.Tenants)), "tenant", "tenants"), count(uint32(servers), "server", "servers"))
				return nil
			},
		},
		&cobra.Command{
			Use: "print [FILE]", Short: "Print what applies: defaults filled in, secrets left out", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				c, _, err := load(first(args), nil)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(config.Print(c))
				return err
			},
		},
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of the configuration, for editors", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := cmd.OutOrStdout().Write(config.Schema())
				return err
			},
		},
	)
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
