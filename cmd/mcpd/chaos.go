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
		Use: "chaos", Short: "Break a running host on purpose, and see whether anybody else notices",
		Long: "Break a running host on purpose, and see whether anybody else notices. The host has to " +
			"be started with --chaos.\n\n" +
			"An experiment is one of those that there are, by its name, or a file with a page of YAML.",
	}
	cmd.AddCommand(chaosListCommand(), chaosDescribeCommand(), chaosPlanCommand(),
		chaosReplayCommand(), chaosRunCommand(), chaosReportCommand(), chaosServerCommand())
	return cmd
}

func chaosListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments that there are, and the kinds of faults that they are made of",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "Experiments")
			for _, e := range experiment.Library() {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Name, strings.Join(e.Catalogue, " "), e.Title)
			}
			fmt.Fprintln(w, "\nKinds of faults")
			for _, k := range faults.Kinds {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", k.Name, strings.Join(k.Rows, " "), k.Is)
			}
			return w.Flush()
		},
	}
}

func chaosDescribeCommand() *cobra.Command {
	var source bool
	cmd := &cobra.Command{
		Use:   "describe NAME|FILE",
		Short: "Tell what an experiment or a kind of fault does, expects and needs",
		Args:  cobra.ExactArgs(1),
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
		"print the file itself, from which another can be made")
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
				document.DidYouMean(name, names, "`mcpd chaos list` shows those that there are"))
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

// casting says which tenants play which roles, and the seed of random choices.
type casting struct {
	admin      string
	target     string
	bystanders []string
	seed       uint64
	short      bool
}

func (c *casting) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.admin, "admin", "",
		"address of the admin listener (default $MCPD_ADMIN, "+defaultAdmin+")")
	flags.StringVar(&c.target, "target", "",
		"tenant that is hurt (default the one that the faults name, else the first)")
	flags.StringSliceVar(&c.bystanders, "bystander", nil,
		"tenants that must not notice (default the others, as many as the experiment wants)")
	flags.Uint64Var(&c.seed, "seed", 1, "of all that is drawn: the same seed breaks the same things")
	flags.BoolVar(&c.short, "short", false,
		"phases of 5, 5 and 10 seconds, without a verdict on latencies")
}

// plan assigns the roles of an experiment to the rows of a host.
func (c *casting) plan(e experiment.Experiment, tree faults.Tree) (experiment.Experiment,
	experiment.Roles, []experiment.Strike, error) {
	if c.short {
		e = e.Short()
	}
	if err := e.Room(); err != nil {
		return e, experiment.Roles{}, nil, &failure{exitUsage, err}
	}
	roles, err := e.Cast(tree, c.target, c.bystanders)
	if err != nil {
		return e, roles, nil, err
	}
	strikes, err := e.Outline(tree, roles, c.seed)
	return e, roles, strikes, err
}

func chaosPlanCommand() *cobra.Command {
	var c casting
	var file string
	cmd := &cobra.Command{
		Use:   "plan NAME|FILE",
		Short: "Show when an experiment would strike and at what, without doing anything",
		Args:  cobra.ExactArgs(1),
		Long: "Show when an experiment would strike and at what, without doing anything. The schedule " +
			"is a function of the experiment, the rows of the\n" +
			"host and the seed. Where servers or sessions come and go, a run draws from those that are " +
			"there when its faults begin. It makes no calls,\n" +
			"and so needs no keys.",
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
				"%w: that is of mcpd chaos run; a plan makes no calls and writes no files, so leave it out",
				err,
			)
		}
		return err
	})
	cmd.Flags().StringVar(&file, "tree", "",
		"rows from this `file`, which mcpd tree --all --json has written, instead of a host's")
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
