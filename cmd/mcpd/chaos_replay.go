package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mcpd/chaos/sim"
)

func chaosReplayCommand() *cobra.Command {
	var seed, seeds uint64
	var quiet bool
	cmd := &cobra.Command{
		Use:   "replay --seed N",
		Short: "Run a simulated host from a seed, and print each step",
		Args:  cobra.NoArgs,
		Long: "Run a whole host with its clients and servers inside this process, on one\n" +
			"goroutine and in virtual time, and inject the faults that the seed determines.\n" +
			"Each step is one line: its number, the time in seconds, the kind of step, and its\n" +
			"subject. Two runs of one seed by one version of mcpd are identical, so a finding\n" +
			"can be reproduced. The command needs no host and touches none.\n\n" +
			"With --seeds, it runs that many seeds one after the other, and prints only the\n" +
			"runs with findings. The exit code is 1 if there are any findings.",
		Example: "  mcpd chaos replay --seed 42\n  mcpd chaos replay --seed 1 --seeds 1000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seeds == 0 {
				return errors.New("--seeds is 0: give the number of seeds to run")
			}
			if cmd.Flags().Changed("seeds") {
				return replaySome(cmd, seed, seeds)
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			o := sim.Options{Trace: out}
			if quiet {
				o.Trace = nil
			}
			r := sim.Run(seed, o)
			printRun(out, r)
			if err := out.Flush(); err != nil {
				return err
			}
			return findingsError(len(r.Findings))
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&seed, "seed", 0, "seed of the run")
	flags.Uint64Var(&seeds, "seeds", 1,
		"number of seeds to run, from --seed on; prints only runs with findings")
	flags.BoolVar(&quiet, "quiet", false, "do not print the steps")
	// The flag exists, so this cannot fail.
	_ = cmd.MarkFlagRequired("seed")
	return cmd
}

// replaySome runs many seeds and prints the runs with findings.
func replaySome(cmd *cobra.Command, first, n uint64) error {
	var runs, steps, calls, faults, crashes, bad int
	sim.Each(cmd.Context(), first, n, func(r sim.Result) {
		runs, steps, calls, faults, crashes = runs+1, steps+r.Steps, calls+r.Calls, faults+
			r.Faults, crashes+r.Crashes
		if len(r.Findings) > 0 {
			bad++
			printRun(cmd.OutOrStdout(), r)
		}
	})
	fmt.Fprintf(cmd.OutOrStdout(),
		"%d runs: %d steps, %d requests, %d faults, %d crashes; %d runs have findings\n", runs, steps,
		calls, faults, crashes, bad)
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	return findingsError(bad)
}

// printRun prints a summary of a run and its findings.
func printRun(w io.Writer, r sim.Result) {
	fmt.Fprintf(w, "seed %d, trace %s: %d steps, %v, %d requests, %d faults, %d crashes\n", r.Seed,
		r.Sum, r.Steps, r.Virtual, r.Calls, r.Faults, r.Crashes)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "  %v\n", f)
	}
}

// findingsError returns an error if any run has findings.
func findingsError(runs int) error {
	if runs == 0 {
		return nil
	}
	return &failure{exitFailure, fmt.Errorf("%d runs have findings", runs)}
}
