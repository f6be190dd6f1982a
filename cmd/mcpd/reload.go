package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mcpd/gateway/config"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

func reloadCommand() *cobra.Command {
	var flag string
	cmd := &cobra.Command{
		Use: "reload", Short: "Make a running host read its configuration again", Args: cobra.NoArgs,
		Long: "Make a running host read its configuration again, and print what changed. If the\n" +
			"file has a mistake, nothing changes. SIGHUP has the same effect.",
		Example: "  mcpd reload\n  mcpd reload --admin 127.0.0.1:7421",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var report mcpdv1.Reload
			if err := adminPost(cmd.Context(), flag, "/admin/v1/reload", &report); err != nil {
				return err
			}
			showReload(cmd.OutOrStdout(), &report)
			return nil
		},
	}
	cmd.Flags().StringVar(&flag, "admin", "",
		"address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	return cmd
}

// showReload prints the changes that were applied, then those that need a restart.
func showReload(out io.Writer, r *mcpdv1.Reload) {
	fmt.Fprintf(out, "%s: generation %d, %s\n", r.GetSource(), r.GetGeneration(),
		count(uint32(len(r.GetChanges())), "change", "changes"))
	for _, kept := range []bool{false, true} {
		for _, c := range r.GetChanges() {
			switch {
			case (c.GetDoes() == string(config.Restart)) != kept:
			case kept:
				fmt.Fprintf(out, "  %s: not done, it needs a restart\n", c.GetPath())
			default:
				fmt.Fprintf(out, "  %s: %s\n", c.GetPath(), c.GetDoes())
			}
		}
	}
}
