package main

import (
	"os"

	"github.com/spf13/cobra"

	"mcpd/chaos/server"
)

func chaosServerCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "server", Short: "Serve a server on standard input and output that misbehaves when it is told to", Args: cobra.NoArgs,
		Long: "Serve a server on standard input and output that misbehaves when it is told to. It gives back, sleeps and counts, until a call of its\n" +
			"tool misbehave has it do wrong. The arena of `mcpd serve --chaos` has one for each of its tenants.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Serve(cmd.Context(), server.Options{In: os.Stdin, Out: os.Stdout, State: state}); err != nil {
				return &failure{exitFailure, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "folder for what outlives the process: what was counted, and what fails at start")
	return cmd
}
