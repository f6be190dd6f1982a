package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/gateway/config/document"
)

func chaosCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "chaos", Short: "Inject faults into a running host, and check that they affect nothing else",
		Long: "Inject faults into a running host, and check that they affect nothing else. The\n" +
			"host must run with --chaos.\n\n" +
			"An experiment is built in and given by its name, or it is a YAML file.",
		Example: "  mcpd chaos list\n  mcpd chaos run panic-request-manager --short",
	}
	cmd.AddCommand(chaosListCommand(), chaosDescribeCommand(), chaosPlanCommand(),
		chaosReplayCommand(), chaosRunCommand(), chaosReportCommand(), chaosServerCommand())
	return cmd
}

func chaosListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the built-in experiments and the kinds of faults",
		Args:    cobra.NoArgs,
		Example: "  mcpd chaos list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "Experiments")
			for _, e := range experiment.Library() {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Name, strings.Join(e.CatalogueIDs, " "), e.Title)
			}
			fmt.Fprintln(w, "\nKinds of faults")
			for _, k := range faults.Kinds {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", k.Name, strings.Join(k.CatalogueIDs, " "), k.Description)
			}
			return w.Flush()
		},
	}
}

func chaosDescribeCommand() *cobra.Command {
	var source bool
	cmd := &cobra.Command{
		Use:   "describe NAME|FILE",
		Short: "Describe what an experiment or a kind of fault does, expects and needs",
		Args:  cobra.ExactArgs(1),
		Example: "  mcpd chaos describe server.exit\n  mcpd chaos describe panic-request-manager " +
			"--source > mine.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch k, ok := faults.Find(faults.Kinds, args[0]); {
			case ok && source:
				return fmt.Errorf(
					"%q is a kind of fault, which has no file: leave out --source, or name an experiment", k.Name,
				)
			case ok:
				_, err := io.WriteString(cmd.OutOrStdout(), experiment.DescribeKind(k))
				return err
			}
			e, data, err := readExperiment(args[0])
			if err != nil {
				return err
			}
			if !source {
				data = []byte(e.Describe(faults.Kinds))
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().BoolVar(&source, "source", false,
		"print the YAML of the experiment, to write another one from")
	return cmd
}

// readExperiment returns the built-in experiment of that name, or the experiment in the file of
// that name, with its source.
func readExperiment(name string) (experiment.Experiment, []byte, error) {
	data, file := experiment.Source(name), name+".yaml"
	if data == nil {
		library := experiment.Library()
		names := make([]string, len(library))
		for i, e := range library {
			names[i] = e.Name
		}
		f, err := os.Open(name)
		switch {
		case errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "/."):
			return experiment.Experiment{}, nil, fmt.Errorf("there is no experiment %q: %s", name,
				document.DidYouMean(name, names, "`mcpd chaos list` shows all experiments"))
		case err != nil:
			return experiment.Experiment{}, nil, err
		}
		defer f.Close()
		if data, err = io.ReadAll(io.LimitReader(f, document.MaxFile+1)); err != nil {
			return experiment.Experiment{}, nil, err
		}
		file = name
	}
	e, err := experiment.Parse(file, data, faults.Kinds)
	if err != nil {
		return experiment.Experiment{}, nil, &failure{exitConfig, err}
	}
	return e, data, nil
}

// chaosOptions are the flags that plan and run share.
type chaosOptions struct {
	admin      string
	target     string
	bystanders []string
	seed       uint64
	short      bool
}

func (c *chaosOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.admin, "admin", "",
		"address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	flags.StringVar(&c.target, "target", "",
		"tenant to break (default the tenant that the faults name, else the first)")
	flags.StringSliceVar(&c.bystanders, "bystander", nil,
		"tenants that must not be affected (default other tenants, as many as the experiment needs)")
	flags.Uint64Var(&c.seed, "seed", 1,
		"seed of all random choices; the same seed breaks the same things")
	flags.BoolVar(&c.short, "short", false,
		"use phases of 5, 5 and 10 seconds, and give no verdict on latencies")
}

// plan applies --short, assigns the roles target and bystander to tenants, and returns the schedule
// of faults.
func (c *chaosOptions) plan(e experiment.Experiment, tree faults.Tree) (experiment.Experiment,
	experiment.Roles, []experiment.Strike, error) {
	if c.short {
		e = e.Short()
	}
	if err := e.CheckFaultsFit(); err != nil {
		return e, experiment.Roles{}, nil, &failure{exitUsage, err}
	}
	roles, err := e.AssignRoles(tree, c.target, c.bystanders)
	if err != nil {
		return e, roles, nil, err
	}
	strikes, err := e.DraftSchedule(tree, roles, c.seed)
	return e, roles, strikes, err
}

func chaosPlanCommand() *cobra.Command {
	var c chaosOptions
	var file string
	cmd := &cobra.Command{
		Use:   "plan NAME|FILE",
		Short: "Show when and where an experiment would inject faults",
		Args:  cobra.ExactArgs(1),
		Long: "Show when and where an experiment would inject faults, without injecting any. The\n" +
			"schedule depends only on the experiment, the rows of the host and the seed. If\n" +
			"servers or sessions come and go, a run chooses from those that exist when its\n" +
			"faults begin. A plan makes no calls, and so needs no keys.",
		Example: "  mcpd chaos plan panic-request-manager --seed 7\n  mcpd chaos plan mine.yaml --tree " +
			"tree.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, _, err := readExperiment(args[0])
			if err != nil {
				return err
			}
			tree, err := chaosTree(cmd.Context(), c.admin, file)
			if err != nil {
				return err
			}
			e, roles, strikes, err := c.plan(e, tree)
			if f, ok := errors.AsType[*failure](err); ok {
				return f
			}
			if err != nil {
				return &failure{exitFailure, err}
			}
			_, err = io.WriteString(cmd.OutOrStdout(), e.Plan(roles, strikes, c.seed))
			return err
		},
	}
	c.flags(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok &&
			chaosRunCommand().Flags().Lookup(name) != nil {
			return fmt.Errorf(
				"%w: only mcpd chaos run has that flag; leave it out, because a plan makes no calls and "+
					"writes no files",
				err,
			)
		}
		return err
	})
	cmd.Flags().StringVar(&file, "tree", "",
		"take the rows from this `file`, written by mcpd tree --all --json, and not from a host")
	return cmd
}

// chaosTree reads all rows of a host, including every row of a pool.
func chaosTree(ctx context.Context, addr, file string) (faults.Tree, error) {
	var data []byte
	var err error
	if file != "" {
		data, err = os.ReadFile(file)
	} else {
		var body io.ReadCloser
		if body, err = adminGet(ctx, addr, "/admin/v1/tree?all=1"); err == nil {
			defer body.Close()
			data, err = io.ReadAll(body)
		}
	}
	if err != nil {
		return nil, err
	}
	tree, err := faults.ParseTree(data)
	if err != nil && file != "" {
		return nil, fmt.Errorf("%s is %w", file, err)
	}
	if err != nil {
		return nil, &failure{exitUnavailable, fmt.Errorf("the answer is %w", err)}
	}
	return tree, nil
}
