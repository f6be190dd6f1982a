package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcpd/bench/compare"
	"mcpd/bench/record"
	"mcpd/bench/report"
)

// benchFiles are the names of the files for a run's results. An empty name means that the file is
// not wanted.
type benchFiles struct{ json, html string }

func (to *benchFiles) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&to.html, "html", "",
		"write a self-contained web page to this file")
}

// benchAll returns a function that writes several records one after the other with show.
func benchAll(show func(io.Writer, record.Record) error) func(io.Writer, []record.Record) error {
	return func(w io.Writer, list []record.Record) error {
		for _, r := range list {
			if err := show(w, r); err != nil {
				return err
			}
		}
		return nil
	}
}

func (to *benchFiles) write(list ...record.Record) error {
	for _, f := range []struct {
		name string
		show func(io.Writer, []record.Record) error
	}{{to.json, benchAll(record.Write)}, {to.html, report.HTML}} {
		if f.name == "" {
			continue
		}
		var b bytes.Buffer
		if err := f.show(&b, list); err != nil {
			return &failure{exitFailure, err}
		}
		if err := os.WriteFile(f.name, b.Bytes(), 0o644); err != nil {
			return &failure{exitFailure, err}
		}
	}
	return nil
}

func benchReportCommand() *cobra.Command {
	var to benchFiles
	cmd := &cobra.Command{
		Use: "report FILE...", Short: "Show all measurements of runs as Markdown tables or a web page",
		Args: needs("a file that mcpd bench run has written"),
		Long: "Show all measurements of runs, from the records that the runs have written: as\n" +
			"Markdown tables, and as a web page if requested. The name - is standard input.",
		Example: "  mcpd bench report run.json --html run.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			var list []record.Record
			for _, name := range args {
				r, err := readBench(cmd.InOrStdin(), name)
				if err != nil {
					return &failure{exitFailure, err}
				}
				list = append(list, r)
			}
			if err := to.write(list...); err != nil {
				return err
			}
			return benchAll(report.Markdown)(cmd.OutOrStdout(), list)
		},
	}
	to.flags(cmd)
	return cmd
}

func benchCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare OLD NEW", Short: "Show what became better or worse between two runs on one machine",
		Args: cobra.ExactArgs(2),
		Long: "Show what became better or worse between two runs on one machine, from their\n" +
			"records: by the ratios within each run, and by memory. Absolute times of two runs\n" +
			"are not compared, because the other load on the machine is unknown. The exit code\n" +
			"is 1 if something became worse by its whole 95 % interval.",
		Example: "  mcpd bench compare old.json new.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var both [2]record.Record
			for i, name := range args {
				var err error
				if both[i], err = readBench(cmd.InOrStdin(), name); err != nil {
					return &failure{exitFailure, err}
				}
			}
			list, err := compare.Compare(both[0], both[1])
			if err != nil {
				return &failure{exitFailure, err}
			}
			return showFindings(cmd.OutOrStdout(), list)
		},
	}
}

func showFindings(out io.Writer, list []compare.Finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	worse := 0
	for _, f := range list {
		change := f.Why
		if f.Why == "" {
			change = fmt.Sprintf("%.3f times (%.3f to %.3f)", f.Change.Ratio, f.Change.Low, f.Change.High)
		}
		if f.Is == compare.Worse {
			worse++
		}
		fmt.Fprintf(w, "%s\t%s\t%s, %s\t%.4g to %.4g %s\t%s\n", f.Is, f.Scenario, f.Case, f.Name,
			f.Before, f.After, f.Unit, change)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if worse > 0 {
		return &failure{exitFailure, fmt.Errorf("%d of %d became worse", worse, len(list))}
	}
	return nil
}
