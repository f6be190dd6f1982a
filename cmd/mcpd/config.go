package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"mcpd/gateway/config"
	"mcpd/supervisor"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check, print or describe the configuration",
		Example: "  mcpd config check mcpd.yaml\n  mcpd config print mcpd.yaml"}
	cmd.AddCommand(
		configReader("check", "Report all mistakes of a configuration at once",
			func(out io.Writer, c *config.Config, source string) error {
				servers := 0
				for _, t := range c.Tenants {
					servers += len(t.Servers)
				}
				for _, warning := range c.Warnings {
					fmt.Fprintf(out, "warning: %s\n", warning)
				}
				for _, i := range c.Imported {
					fmt.Fprintf(out, "tenant %s: %q is called %s here\n", i.Tenant, i.From, i.Name)
				}
				for at, cause := range supervisor.Unlimited(c) {
					fmt.Fprintf(
						out, "tenant %s: server %s would not be limited by an mcpd started from here: %v\n",
						at.Tenant, at.Server, cause,
					)
				}
				printProcesses(out, c)
				var bad error
				for at, cause := range supervisor.Untrusted(c) {
					bad = errors.Join(bad, fmt.Errorf("tenant %s: server %s: %w", at.Tenant, at.Server, cause))
				}
				doubt, err := supervisor.CheckCertificate(c, time.Now())
				if doubt != nil {
					fmt.Fprintf(out, "warning: %v\n", doubt)
				}
				bad = errors.Join(bad, err)
				if bad != nil {
					return &failure{exitConfig, bad}
				}
				_, err = fmt.Fprintf(out, "%s: ok, %s, %s\n", source,
					count(uint32(len(c.Tenants)), "tenant", "tenants"),
					count(uint32(servers), "server", "servers"))
				return err
			}),
		configReader("print", "Print the effective configuration, with defaults and without secrets",
			func(out io.Writer, c *config.Config, _ string) error {
				_, err := out.Write(config.Print(c))
				return err
			}),
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of the configuration, for editors",
			Args:    cobra.NoArgs,
			Example: "  mcpd config schema > mcpd.schema.json",
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := cmd.OutOrStdout().Write(config.Schema())
				return err
			},
		},
	)
	return cmd
}

// configReader returns a command that reads a configuration. The file is named by an argument or,
// as in the commands that run a host, by a flag.
func configReader(use, short string,
	tell func(out io.Writer, c *config.Config, source string) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: use + " [FILE]", Short: short, Args: cobra.MaximumNArgs(1),
		Example: "  mcpd config " + use + " mcpd.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
			case cmd.Flags().Changed("config"):
				return errors.New("the file is given twice: leave out FILE or --config")
			default:
				file = args[0]
			}
			c, source, err := load(file, nil, config.Default)
			if err != nil {
				return err
			}
			return tell(cmd.OutOrStdout(), c, source)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "the same as FILE")
	return cmd
}
