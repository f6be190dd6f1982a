package main

import (
	"fmt"
	"runtime/debug"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"mcpd/supervisor"
)

// version is set by the linker in a release: -X main.version=1.2.3.
var version = "devel"

// build returns the version, commit and Go version of this binary.
func build() supervisor.Build {
	b := supervisor.Build{Version: version, Commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			b.Commit += "+changes"
		}
	}
	return b
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version, the commit and the Go version of this binary",
		Args:    cobra.NoArgs,
		Example: "  mcpd version\n  mcpd version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := build()
			if !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "mcpd %s (%s, %s)\n", b.Version, b.Commit, b.Go)
				return nil
			}
			out, err := json.Marshal(map[string]string{"version": b.Version, "commit": b.Commit, "go": b.Go},
				json.Deterministic(true))
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), string(out))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
