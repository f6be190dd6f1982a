package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mcpd/chaos/record"
	"mcpd/chaos/report"
)

func chaosReportCommand() *cobra.Command {
	var to reports
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Show the results of experiments as a table, a web page or JUnit XML",
		Args:  needs("a file that mcpd chaos run has written, or a directory of such files"),
		Long: "Show the results of experiments, from the records that runs have written: as a\n" +
			"table, and as a web page or JUnit XML if requested. Several records are shown\n" +
			"side by side, together with the observations of their bystanders. A directory\n" +
			"stands for the .json files in it, and - for standard input.",
		Example: "  mcpd chaos report hang.json --html hang.html\n  mcpd chaos report results --html " +
			"results.html --junit results.xml",
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := readRecords(cmd.InOrStdin(), args)
			if err != nil {
				return &failure{exitFailure, err}
			}
			return to.write(cmd.OutOrStdout(), list)
		},
	}
	to.flags(cmd)
	return cmd
}

// reports are the names of the files in which records are shown beside the table. An empty name
// means that the file is not wanted.
type reports struct{ json, html, junit string }

func (to *reports) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&to.json, "json", "", "write the records to this file")
	flags.StringVar(&to.html, "html", "",
		"write a self-contained web page to this file")
	flags.StringVar(&to.junit, "junit", "", "write JUnit XML for build servers to this file")
}

// check reports which of the files cannot be written, before anything runs.
func (to *reports) check() error { return writable(to.json, to.html, to.junit) }

// writable reports which of the files cannot be written. It removes the files that it had to
// create. Empty names are skipped.
func writable(names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		_, missing := os.Stat(name)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = f.Close()
			if missing != nil {
				err = errors.Join(err, os.Remove(name))
			}
		}
		if err != nil {
			return &failure{exitFailure, err}
		}
	}
	return nil
}

func (to *reports) write(out io.Writer, list []record.Record) error {
	for _, f := range []struct {
		name string
		show func(io.Writer, []record.Record) error
	}{{to.json, writeRecords}, {to.html, report.HTML}, {to.junit, report.JUnit}} {
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
	return report.Text(out, list)
}

func writeRecords(w io.Writer, list []record.Record) error {
	for _, r := range list {
		if err := record.Write(w, r); err != nil {
			return err
		}
	}
	return nil
}

// readRecords reads the records of files and folders, in the given order.
func readRecords(in io.Reader, names []string) (list []record.Record, err error) {
	for _, name := range names {
		files := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(name, "*.json")); err != nil || len(files) == 0 {
				return nil, fmt.Errorf("%s: there is no .json file in it", name)
			}
		}
		for _, file := range files {
			some, err := readRecord(in, file)
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
	}
	return list, nil
}

func readRecord(in io.Reader, file string) ([]record.Record, error) {
	if file == "-" {
		file = "standard input"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	list, err := record.Read(in)
	switch {
	case err == nil:
		return list, nil
	case !errors.Is(err, record.ErrNone):
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if e, _, wrong := readExperiment(file); wrong == nil {
		return nil, fmt.Errorf(
			"%s is the experiment %s, and no record of it: mcpd chaos run %s --json FILE runs it and "+
				"writes one", file, e.Name, file,
		)
	}
	return nil, fmt.Errorf("%s: %w: mcpd chaos run writes one with --json or --report", file, err)
}
