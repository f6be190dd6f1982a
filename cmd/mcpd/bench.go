package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcpd/bench"
	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/report"
)

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the cost and the recovery time of a host, compared with others",
		Long: "Measure on this machine the cost of a host and how fast it recovers, compared\n" +
			"with a server without a host, with minimal relays, and with Erlang/OTP if it is\n" +
			"installed. A run starts everything that it measures by itself, on loopback, and\n" +
			"needs no host.",
		Example: "  mcpd bench list\n  mcpd bench run --short",
	}
	cmd.AddCommand(benchListCommand(), benchRunCommand(), benchReportCommand(), benchCompareCommand(),
		benchRoleCommand())
	return cmd
}

func benchListCommand() *cobra.Command {
	var long bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the scenarios", Args: cobra.NoArgs,
		Example: "  mcpd bench list --long",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range bench.All {
				fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
				if long {
					fmt.Fprintf(w, "\t%s\n", s.Description)
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&long, "long", false,
		"also describe what is timed, and what it is compared with")
	return cmd
}

func benchRunCommand() *cobra.Command {
	o := bench.Options{Version: build().Version}
	var to benchFiles
	cmd := &cobra.Command{
		Use: "run [NAME...]", Short: "Measure all scenarios or the given ones, and check their gates",
		Long: "Measure all scenarios or the given ones, and check their gates. A gate is a limit\n" +
			"for a ratio within the run, or for a count such as heap objects. It fails only if\n" +
			"the whole 95 % interval lies beyond the limit; the exit code is then 1. Keep only\n" +
			"figures from an otherwise idle machine.\n\n" +
			"The output shows the comparisons. The record has every figure, and\n" +
			"`mcpd bench report` shows it.",
		Example: "  mcpd bench run\n  mcpd bench run call-http call-stdio --short --html calls.html",
		RunE: func(cmd *cobra.Command, names []string) error {
			o.Names, o.Say = names, func(format string, args ...any) {
				fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
			}
			return benchRun(cmd.Context(), cmd.OutOrStdout(), o, &to)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Short, "short", false,
		"run only as many rounds as the gates need: a few minutes, no figures to keep")
	flags.Uint64Var(&o.Seed, "seed", 1,
		"seed of the random draws for intervals of differences, and of the order of some rounds")
	flags.StringVar(&to.json, "out", "", "write the record to this file, for report and compare")
	to.flags(cmd)
	return cmd
}

func benchRun(ctx context.Context, out io.Writer, o bench.Options, to *benchFiles) error {
	if err := writable(to.json, to.html); err != nil {
		return err
	}
	r, err := bench.Run(ctx, o)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	// The measurements taken before an interruption are written too.
	if err := errors.Join(err, to.write(r), report.Terminal(out, r)); err != nil {
		return err
	}
	failures := r.Failures()
	for _, f := range failures {
		o.Say("%s", f)
	}
	if len(failures) > 0 {
		return &failure{exitFailure, fmt.Errorf("%d checks of the run failed", len(failures))}
	}
	return nil
}

// benchRoleCommand is the hidden command of a process that scenarios start.
func benchRoleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "role NAME [ARGUMENT]", Short: "Run as a process of a measurement",
		Args:   cobra.RangeArgs(1, 2),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := kit.Play(cmd.Context(), bench.Roles, args[0], append(args, "")[1],
				cmd.InOrStdin(), os.Stdout)
			if err != nil {
				return &failure{exitFailure, err}
			}
			return nil
		},
	}
}

// readBench reads the record in the named file. The name - means standard input.
func readBench(in io.Reader, name string) (record.Record, error) {
	if name == "-" {
		return record.Read(in)
	}
	f, err := os.Open(name)
	if err != nil {
		return record.Record{}, err
	}
	defer f.Close()
	r, err := record.Read(f)
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
