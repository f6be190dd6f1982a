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
		Short: "Measure on this machine what a host costs and how soon it is back, beside others",
		Long: "Measure on this machine what a host costs and how soon it is back, beside others: a " +
			"server without it, relays that do as little as can be\n" +
			"done, and Erlang/OTP where there is one. A run starts all that it measures by itself, on " +
			"loopback, and needs no host.",
	}
	cmd.AddCommand(benchListCommand(), benchRunCommand(), benchReportCommand(), benchCompareCommand(),
		benchRoleCommand())
	return cmd
}

func benchListCommand() *cobra.Command {
	var long bool
	cmd := &cobra.Command{
		Use: "list", Short: "List what can be measured", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range bench.All {
				fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
				if long {
					fmt.Fprintf(w, "\t%s\n", s.What)
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&long, "long", false, "say what is timed, and beside what")
	return cmd
}

func benchRunCommand() *cobra.Command {
	o := bench.Options{Version: build().Version}
	var to benchFiles
	cmd := &cobra.Command{
		Use: "run [NAME...]", Short: "Measure all scenarios, or these, and judge them by their gates",
		Long: "Measure all scenarios, or these, and judge them by their gates. A gate is a ratio " +
			"within the one run, or a count as of heap objects, and fails\n" +
			"only when the whole 95 % interval lies beyond it; then the exit code is 1. Figures are worth " +
			"keeping from a machine that does nothing else.\n" +
			"It shows what was compared; every figure is in the record, which mcpd bench report shows.",
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
		"as few rounds as gates can be judged by: a few minutes, no figures to keep")
	flags.Uint64Var(&o.Seed, "seed", 1,
		"of the draws that intervals of differences rest on, and of the order of some rounds")
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
		return &failure{exitFailure, fmt.Errorf("%d of the run's promises are broken", len(failures))}
	}
	return nil
}

// benchRoleCommand is the hidden command of a process that scenarios start.
func benchRoleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "role NAME [ARGUMENT]", Short: "Be a process of a measurement", Args: cobra.RangeArgs(1, 2),
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
