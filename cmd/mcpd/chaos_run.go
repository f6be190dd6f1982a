package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpd/chaos/experiment"
	"mcpd/chaos/faults"
	"mcpd/chaos/record"
	chaos "mcpd/chaos/run"
	"mcpd/chaos/verdict"
	"mcpd/telemetry/admin"
)

// chaosRun holds the options of mcpd chaos run.
type chaosRun struct {
	chaosOptions
	mcp       string
	keys      []string
	report    string
	start     string
	resume    bool
	within    time.Duration
	confirmed bool
	to        reports
}

func chaosRunCommand() *cobra.Command {
	var r chaosRun
	cmd := &cobra.Command{
		Use:   "run NAME|FILE...",
		Short: "Inject faults into a running host, heal it, and judge the results",
		Args:  needs("an experiment: a name from mcpd chaos list, or a file"),
		Long: "Inject the faults of an experiment into a running host, heal it, and judge what\n" +
			"happened. Clients of the target and of the bystanders call at a constant rate\n" +
			"throughout.\n\n" +
			"Everything is healed at the end, when a guard of the experiment trips, and when\n" +
			"the command is interrupted. If the command is killed, faults on the machine stay,\n" +
			"such as a stopped process; all others heal within ten seconds.\n\n" +
			"Several experiments run one after the other, also in parts: see --within and\n" +
			"--resume. The exit code is 1 if a check of an experiment failed.",
		Example: "  mcpd chaos run panic-request-manager --short\n  mcpd chaos run mine.yaml --target " +
			"acme --bystander globex --key acme=env:ACME --key globex=@globex.key --html mine.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args)
		},
	}
	r.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.mcp, "mcp", "",
		"base URL of the host's MCP endpoints (default the URL that the host reports)")
	flags.StringArrayVar(&r.keys, "key", nil,
		"key of a tenant as TENANT=@FILE or TENANT=env:NAME, may be repeated")
	flags.StringVar(&r.report, "report", "",
		"directory for the record of each experiment, and for a web page and JUnit XML about all of them")
	flags.StringVar(&r.start, "start", "",
		"shell command that starts the host again after an experiment has killed it")
	flags.BoolVar(&r.resume, "resume", false,
		"skip experiments that have a record in the --report directory, and judge those records with "+
			"the rest")
	flags.DurationVar(&r.within, "within", 0,
		"begin no experiment after the first that would end later than this; --resume runs the rest "+
			"(default no limit)")
	flags.BoolVar(&r.confirmed, "i-know", false, "break the host even if it is in production")
	r.to.flags(cmd)
	return cmd
}

func (r *chaosRun) run(ctx context.Context, out, side io.Writer, names []string) error {
	addr, err := adminAddr(r.admin)
	if err != nil {
		return err
	}
	keys, err := readKeys(r.keys, os.LookupEnv, os.ReadFile)
	if err != nil {
		return err
	}
	if r.resume && r.report == "" {
		return errors.New("--resume needs --report: name the directory with the records")
	}
	all := make([]experiment.Experiment, len(names))
	for i, name := range names {
		if all[i], _, err = readExperiment(name); err != nil {
			return err
		}
		if r.report != "" && slices.ContainsFunc(all[:i], func(e experiment.Experiment) bool {
			return e.Name == all[i].Name
		}) {
			return fmt.Errorf(
				"%s: two experiments are named %s, and the directory of --report has one file for each name: "+
					"rename one of them", name, all[i].Name,
			)
		}
		if r.short {
			all[i] = all[i].Short()
		}
		if err := all[i].CheckFaultsFit(); err != nil {
			return err
		}
	}
	if r.report != "" {
		if err := os.MkdirAll(r.report, 0o755); err != nil {
			return &failure{exitFailure, err}
		}
		r.to.html, r.to.junit = orIn(r.to.html, r.report, "report.html"), orIn(r.to.junit, r.report,
			"report.xml")
	}
	if err := r.to.check(); err != nil {
		return err
	}
	run, err := trustedRuntimeDir()
	if err != nil {
		return &failure{exitFailure, err}
	}
	host, err := claimHost(run, addr, time.Now())
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if err != nil {
		return &failure{exitFailure, err}
	}
	defer host.release()
	var list []record.Record
	begun, ran, remaining, unable, failed := time.Now(), 0, 0, 0, ""
	for _, e := range all {
		one, ok, err := r.savedRecord(e)
		switch p := e.Phases; {
		case err != nil:
			return err
		case ok:
			fmt.Fprintf(side, "%s: skipped, because there is a record of it\n", e.Name)
		case r.within > 0 && ran > 0 && time.Since(begun)+p.Baseline+p.Fault+p.Heal > r.within:
			remaining++
			continue
		default:
			ran++
			if err := host.setExperiment(e.Name); err != nil {
				return &failure{exitFailure, err}
			}
			one, err = r.runOne(ctx, side, addr, keys, e)
			// The next experiment may need something else.
			if errors.Is(err, chaos.ErrUnable) && len(all) > 1 {
				unable++
				fmt.Fprintf(side, "%s: %v\n", e.Name, err)
				continue
			}
			if err != nil && len(list) > 0 {
				err = errors.Join(err, r.to.write(out, list)) // The records of earlier experiments are written.
			}
			if err != nil {
				return err
			}
		}
		list = append(list, one)
		if verdict.Failed(one.Verdicts) && failed == "" {
			failed = e.Name
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(list) > 0 {
		if err := r.to.write(out, list); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case failed != "":
		return &failure{exitFailure, fmt.Errorf("%s: a check of the experiment failed", failed)}
	case unable > 0:
		return &failure{
			exitFailure, fmt.Errorf("%d of %d experiments cannot be run on this host", unable, len(all)),
		}
	case remaining > 0:
		return &failure{
			exitFailure,
			fmt.Errorf("%d of %d experiments are left: run them with --resume", remaining, len(all)),
		}
	}
	return nil
}

// runOne runs an experiment, judges it and keeps its record.
func (r *chaosRun) runOne(ctx context.Context, side io.Writer, addr string, keys map[string]string,
	e experiment.Experiment) (record.Record, error) {
	one, err := chaos.Run(ctx, chaos.Options{
		Experiment: e, Short: r.short, Kinds: faults.Kinds, Admin: "http://" + addr,
		Token: func(s admin.Scope) (string, error) { return adminToken(addr, s) },
		MCP:   r.mcp, Keys: keys, Target: r.target, Bystanders: r.bystanders, Seed: r.seed,
		AllowProduction: r.confirmed, Start: starter(r.start),
		Progress: func(line string) { fmt.Fprintln(side, line) },
	})
	if err != nil {
		return one, chaosFailure(err)
	}
	one.Verdicts = verdict.Judge(one)
	return one, r.saveRecord(one)
}

// savedRecord returns the record that an earlier run of the same form has written. The record of an
// aborted run does not count.
func (r *chaosRun) savedRecord(e experiment.Experiment) (one record.Record, ok bool, err error) {
	if !r.resume {
		return one, false, nil
	}
	list, err := readRecord(nil, filepath.Join(r.report, e.Name+".json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return one, false, nil
	case err != nil:
		return one, false, &failure{exitFailure, err}
	case len(list) != 1 || list[0].Aborted != "" || list[0].Experiment.Short != r.short:
		return one, false, nil
	}
	return list[0], true, nil
}

// saveRecord writes a record to the report folder as soon as the record exists.
func (r *chaosRun) saveRecord(one record.Record) error {
	if r.report == "" {
		return nil
	}
	err := (&reports{json: filepath.Join(r.report, one.Experiment.Name+".json")}).write(io.Discard,
		[]record.Record{one})
	if err != nil {
		return &failure{exitFailure, err}
	}
	return nil
}

func orIn(name, dir, file string) string {
	if name != "" {
		return name
	}
	return filepath.Join(dir, file)
}

// readKeys reads keys from files and the environment. On the command line every user of the
// machine could see them.
func readKeys(list []string, getenv func(string) (string, bool),
	read func(string) ([]byte, error)) (map[string]string, error) {
	keys := map[string]string{}
	for _, text := range list {
		tenant, from, ok := strings.Cut(text, "=")
		file, isFile := strings.CutPrefix(from, "@")
		name, isEnv := strings.CutPrefix(from, "env:")
		switch {
		case !ok || tenant == "" || !isFile && !isEnv:
			return nil, errors.New("--key must be TENANT=@FILE or TENANT=env:NAME")
		case isEnv:
			key, ok := getenv(name)
			if !ok {
				return nil, fmt.Errorf("--key %s: the environment has no variable %s", tenant, name)
			}
			keys[tenant] = key
		default:
			data, err := read(file)
			if err != nil {
				return nil, fmt.Errorf("--key %s: %w", tenant, err)
			}
			keys[tenant] = strings.TrimSpace(string(data))
		}
	}
	return keys, nil
}

// chaosFailure adds the exit code to the reason for which nothing was broken.
func chaosFailure(err error) error {
	code := exitFailure
	switch {
	case errors.Is(err, chaos.ErrProduction), chaos.Status(err) == http.StatusUnauthorized,
		chaos.Status(err) == http.StatusForbidden:
		code = exitPermission
	case errors.Is(err, chaos.ErrBusy):
		code = exitBusy
	case errors.Is(err, chaos.ErrUnreachable):
		code = exitUnavailable
	case errors.Is(err, context.Canceled):
		return err
	}
	return &failure{code, err}
}

// starter returns a function that starts a host with a shell command. The host runs in a session
// of its own and outlives this process. Its standard error is that of this process.
func starter(command string) func(context.Context) error {
	if command == "" {
		return nil
	}
	return func(context.Context) error {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // ends with the host or with this process
		return nil
	}
}
